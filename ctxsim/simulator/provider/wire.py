"""The exact request: a view as the JSON body that a vendor's API takes."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Literal

from ctxsim.counting.estimators.serialized import handed, parsed
from ctxsim.policies.foreign.conversation import call_of
from ctxsim.transcript import RESPONSE_KINDS, Head, Item

Format = Literal["anthropic", "openai"]


def _ids(items: Iterable[Item]) -> dict[int | None, str]:
    """Return, by place, the id of each tool call (as recorded if unique) and of the results that answer it."""
    used: set[str] = set()
    ids: dict[int | None, str] = {}
    for item in items:
        if item.kind == "tool_call":
            own = item.call_id
            ids[item.place] = own if own and own not in used else f"call_{item.place}"
            used.add(ids[item.place])
        elif item.kind == "tool_result":
            ids[item.place] = ids.get(item.answers, item.call_id)
    return ids


def request_body(items: list[Item], head: Head, format: Format) -> dict[str, Any]:
    """Return the body of a request with these items, in Anthropic's Messages or OpenAI's Chat Completions form.

    Summaries and notes go out as user text. Non-text content is shown as a placeholder: recordings keep its size, not
    its bytes.
    """
    body = _anthropic(items, head) if format == "anthropic" else _openai(items, head)
    return body | ({"tools": list(map(parsed, head.tools))} if head.tools else {})


def _with_media(item: Item) -> str:
    parts = [item.text, *(f"[{media.kind}, {media.tokens} tokens]" for media in item.media)]
    return "\n".join(filter(None, parts))


def _anthropic(items: list[Item], head: Head) -> dict[str, Any]:
    ids = _ids(items)
    runs = groupby(items, lambda item: "assistant" if item.kind in RESPONSE_KINDS else "user")
    messages = [{"role": role, "content": [_anthropic_block(item, ids) for item in run]} for role, run in runs]
    return ({"system": head.system} if head.system else {}) | {"messages": messages}


def _anthropic_block(item: Item, ids: dict[int | None, str]) -> dict[str, Any]:
    match item.kind:
        case "tool_call":
            return {"type": "tool_use", "id": ids[item.place], "name": item.tool, "input": handed(item.text)}
        case "tool_result":
            return {"type": "tool_result", "tool_use_id": ids[item.place], "content": _with_media(item)}
        case "reasoning":
            return {"type": "thinking", "thinking": item.text}
        case _:
            return {"type": "text", "text": _with_media(item)}


def _openai(items: list[Item], head: Head) -> dict[str, Any]:
    ids = _ids(items)
    messages: list[dict[str, Any]] = [{"role": "system", "content": head.system}] if head.system else []
    for response, run in groupby(items, lambda item: item.message if item.kind in RESPONSE_KINDS else None):
        if response is not None:
            messages.append({"role": "assistant", "content": None})
        for item in run:
            if response is not None:
                _add_to_response(messages[-1], item, ids)
            elif item.kind == "tool_result":
                messages.append({"role": "tool", "tool_call_id": ids[item.place], "content": _with_media(item)})
            else:
                messages.append({"role": "user", "content": _with_media(item)})
    return {"messages": messages}


def _add_to_response(message: dict[str, Any], item: Item, ids: dict[int | None, str]) -> None:
    if item.kind == "tool_call":
        message.setdefault("tool_calls", []).append(call_of(ids[item.place], item.tool, item.text))
    elif item.kind == "reasoning":
        message["reasoning_content"] = message.get("reasoning_content", "") + item.text
    else:
        message["content"] = (message["content"] or "") + item.text
