"""Agent Framework's counter: each message as JSON, with its field names and its id."""

import json
from collections.abc import Sequence
from functools import lru_cache

from ctxsim.counting.estimators.estimator import Estimator
from ctxsim.transcript import Head, Item


class AgentFramework(Estimator):
    """len(json) // 4 of each message with its role, its id and its contents, at least 1; parts of one share the frame.

    microsoft/agent-framework, python, agent_framework/_compaction.py (CharacterEstimatorTokenizer, _serialize_message).
    Tool schemas don't count. `ids` is the prefix of messages' ids, before their number. It counts too, and so does
    `tool_summary_group_` before the id of a note that replaces a group.
    """

    judged_at = ()
    ids: str = "msg_"

    def text(self, text: str) -> int:
        return max(1, len(text) // 4)

    def item(self, item: Item) -> int:
        return self.message([item]) + sum(media.tokens for media in item.media)

    def head(self, head: Head) -> int:
        return self.together(0, head.system)

    def together(self, size: int, system: str = "") -> int:
        return size + (self._framed("system", [_text(system)], 0) if system else 0)

    def message(self, items: Sequence[Item]) -> int:
        contents = [_content(item) for item in items if item.kind == "tool_call" or item.text]
        kind, place = items[0].kind, items[0].place
        if kind == "tool_result":
            return self._framed("tool", contents or [_content(items[0])], place)
        if kind == "note" and items[0].sources:
            # The id of such a note is that of the first message in its group.
            return self._framed("assistant", contents, items[0].sources[0], "tool_summary_group_")
        return self._framed("user" if kind in ("user", "summary") else "assistant", contents, place)

    def _framed(self, role: str, contents: Sequence[int], place: int, before: str = "") -> int:
        frame = len('{"contents": [], "message_id": "", "role": ""}') + len(f"{before}{self.ids}{place}{role}")
        return max(1, (frame + sum(contents) + 2 * max(0, len(contents) - 1)) // 4)


@lru_cache(maxsize=1 << 15)
def _quoted(text: str) -> int:
    """Characters of a text as JSON."""
    return len(json.dumps(text, ensure_ascii=False))


def _text(text: str) -> int:
    return len('{"additional_properties": {}, "text": , "type": "text"}') + _quoted(text)


def _content(item: Item) -> int:
    if item.kind == "tool_call":
        frame = '{"additional_properties": {}, "arguments": , "call_id": , "hosted": false, '
        frame += '"name": , "type": "function_call"}'
        return len(frame) + _quoted(item.text) + _quoted(item.call_id) + _quoted(item.tool)
    if item.kind == "tool_result":
        frame = '{"additional_properties": {}, "call_id": , "result": , "type": "function_result"}'
        return len(frame) + _quoted(item.call_id) + _quoted(item.text)
    return _text(item.text)
