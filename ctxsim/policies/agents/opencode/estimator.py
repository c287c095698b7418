"""opencode's estimate of messages that may stay: the length of the AI SDK's messages as JSON."""

import json

from ctxsim.counting.estimators.estimator import Estimator, divided, length
from ctxsim.counting.estimators.serialized import parsed
from ctxsim.transcript import Item


class Opencode(Estimator):
    """Length of each message as JSON / 4, rounded: roles, names of fields and the tool's name count with the text.

    anomalyco/opencode, packages/opencode/src/session/compaction.ts (estimate), util/token.ts; messages of the AI SDK.
    """

    def text(self, text: str) -> int:
        return divided(length(text, "utf16"), 4, "round")

    def item(self, item: Item) -> int:
        written = json.dumps(_message(item), ensure_ascii=False, separators=(",", ":"))
        return self.text(written) + sum(media.tokens for media in item.media)


def _message(item: Item) -> dict[str, object]:
    call = {"toolCallId": item.call_id, "toolName": item.tool}
    match item.kind:
        case "tool_call":
            role, part = "assistant", {"type": "tool-call", **call, "input": parsed(item.text)}
        case "tool_result":
            output = {"type": "text", "value": item.text}
            role, part = "tool", {"type": "tool-result", **call, "output": output}
        case kind:
            role, part = "user" if kind == "user" else "assistant", {"type": "text", "text": item.text}
    return {"role": role, "content": [part]}
