"""The serialised request: field names, quotes and escapes count like content."""

import json
from functools import lru_cache
from typing import Any

from ctxsim.counting.estimators.estimator import Estimator, PerToken, Rounding, Unit, divided, length
from ctxsim.transcript import Item


class Serialized(Estimator):
    """Length of each message block as JSON / ratio.

    ratio=3, ceil, utf16 (cline/cline SDK); 4, floor, points (microsoft/agent-framework, _compaction.py: json // 4);
    4, ceil, bytes (openai/codex, core/src/context_manager/history.rs).
    """

    ratio: PerToken = 3.0
    rounding: Rounding = "ceil"
    unit: Unit = "utf16"

    def text(self, text: str) -> int:
        return self._of(json.dumps(text, ensure_ascii=False))

    def item(self, item: Item) -> int:
        return self._of(json.dumps(_block(item), ensure_ascii=False)) + sum(media.tokens for media in item.media)

    def _of(self, serialised: str) -> int:
        return divided(length(serialised, self.unit), self.ratio, self.rounding)


def _block(item: Item) -> dict[str, object]:
    """Return an item as a block of the Messages API, which these tools serialise."""
    match item.kind:
        case "tool_call":
            return {"type": "tool_use", "id": item.call_id, "name": item.tool, "input": item.text}
        case "tool_result":
            return {"type": "tool_result", "tool_use_id": item.call_id, "content": item.text}
        case _:
            return {"type": "text", "text": item.text}


class UsageSerialized(Serialized):
    """Input and output tokens of the last accepted call + the JSON's length / ratio of what joined (or left) since.

    openai/codex, core/src/context_manager/history.rs (ratio=4, ceil, bytes). Before the first usage the plain estimate.
    """

    goes_on = True


def parsed(text: str) -> object:
    """Return the value of a JSON text; a text that isn't JSON is returned unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def handed(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as the object that frameworks and APIs expect: `{}` for an empty text, and
    `{"input": arguments}` for a text that isn't a JSON object.
    """
    value = parsed(arguments) if arguments else {}
    return value if isinstance(value, dict) else {"input": arguments}


@lru_cache(maxsize=1 << 15)
def if_json(text: str, **options: Any) -> str:
    """Return a JSON text as `json.dumps` writes it with these options; a text that isn't JSON is returned unchanged."""
    try:
        return json.dumps(json.loads(text), **options)
    except (ValueError, RecursionError):
        return text


@lru_cache(maxsize=1 << 15)
def written_again(arguments: str) -> str:
    r"""Return arguments as `json.dumps` writes them: spaced as in `{"a": 1}`, non-ASCII characters as `\u....`."""
    return json.dumps(handed(arguments))
