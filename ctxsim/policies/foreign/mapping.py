"""Turns the messages that foreign code returns into edits of the view.

Returned messages are matched with sent ones by id, then by call id, then by equal text in order. A changed message is a
rewrite, a missing one a drop, an unknown one an insertion whose sources are the items dropped there.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ctxsim.counting.estimators.serialized import handed, parsed
from ctxsim.errors import ContractError
from ctxsim.policies.foreign.conversation import HEAD, Conversation, Group, Message, role_of, text_of
from ctxsim.transcript import RESPONSE_KINDS, Head, Item
from ctxsim.view import View

SUMMARY = "{summary}"
"""Placeholder for the summarizer's text, in a message that requests a summary."""

MAX_TOKENS = 500
"""Default limit in tokens of a summary that a message requests."""

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
"""Roles that an unknown message may have."""

Summarize = Callable[[Iterable[Item], int], str | None]


def changed(conversation: Conversation, view: View, change: Mapping[str, Message | None], reason: str) -> View:
    """Return the view with some messages changed. `change`: by id, a message's new fields, or None to drop it.

    The cost depends on the number of changes only. Raises ContractError as `edited` does, and for an unknown id.
    """
    groups = conversation.groups(view)
    texts: dict[int, str] = {}
    drops: list[int] = []
    numbers: list[int] = []
    for name, fields in change.items():
        number = conversation.numbers.get(name)
        if number is None:
            raise ContractError(f"changes message {name}, which isn't there")
        numbers.append(number)
        group = groups[number]
        if fields and fields.get("role", role_of(group)) != role_of(group):
            raise ContractError(f"changes the role of message {name}; make it another message")
        kept = {} if fields is None else dict(_kept(conversation, group, fields | {"id": name}, True))
        drops += [item.place for item in group.items if item.place not in kept]
        texts |= {place: text for place, text in kept.items() if text is not None}
    edited = view.rewrite(texts, reason)
    if drops:
        return edited.drop(drops, reason)
    conversation.read_on(edited, numbers)
    return edited


def edited(
    conversation: Conversation,
    view: View,
    answer: Sequence[Message],
    reason: str,
    summarize: Summarize,
    head: Head,
    reasoning: bool = True,
) -> View:
    """Return the view edited by the messages in `answer`; the same view if they change nothing or if the request for a
    summary is refused.

    `reasoning`: whether the foreign code was shown reasoning. Only then does missing reasoning mean that it is dropped.
    Raises ContractError if the order changes, if a message comes twice, or for a change that isn't allowed.
    """
    groups = conversation.groups(view)
    answer = [message for message in answer if not _is_head(message, head)]
    matched = _match(conversation, groups, answer)
    texts: dict[int, str] = {}
    drops: set[int] = {item.place for group in groups for item in group.items}
    for message, found in zip(answer, matched, strict=True):
        if found is not None:
            kept = dict(_kept(conversation, groups[found], message, reasoning))
            drops -= kept.keys()
            texts |= {place: text for place, text in kept.items() if text is not None}
    known = {group.id: group.items for group in groups}
    left = [item for group in groups for item in group.items if item.place in drops]
    made = view.rewrite(texts, reason).drop(drops, reason)
    named: dict[int, str] = {}
    for number, messages, between in _gaps(groups, answer, matched, drops):
        at = groups[number].items[0].order if number < len(groups) else view[-1].order + 1 if view else 0
        sources = [item.place for item in between]
        for message in messages:
            text = _written(message, between or left, known, summarize)
            if text is None:
                return view
            if name := message.get("id"):
                named[made.next_place] = str(name)
            made = made.insert(text, at, reason, "summary" if sources else "note", sources)
    conversation.made |= named
    return made


def _match(conversation: Conversation, groups: Sequence[Group], answer: Sequence[Message]) -> list[int | None]:
    """The index of each returned message's group; None for an unknown message."""
    # Built only if some message can't be matched by its id.
    by_call = cache(
        lambda: {key: n for n, group in enumerate(groups) for key in _calls_of(conversation.message(group))}
    )
    by_text = cache(lambda: _by_text(groups))
    by_id = cache(lambda: {conversation.numbers.get(str(message.get("id", ""))) for message in answer})
    found: list[int | None] = []
    taken: set[int] = set()
    newest = -1
    for message in answer:
        role = message.get("role")
        number = conversation.numbers.get(str(message.get("id", "")))
        if number is None:
            number = next((by_call()[name] for name in _calls_of(message) if name in by_call()), None)
        if number is None and not message.get("summarize"):
            same = by_text().get((str(role), content_of(message)), ())
            number = next((one for one in same if one > newest and one not in taken and one not in by_id()), None)
            if number is None and role not in ROLES:
                raise ContractError(f"message {len(found) + 1} came back with role {role!r}; known: {', '.join(ROLES)}")
        if number is not None and role is not None and role != role_of(groups[number]):
            number = None  # another role is another message
        if number is None and (new := _calls_of(message)):
            raise ContractError(f"a message holds or answers a tool call that the model didn't make: {new[0][1]}")
        if number is not None:
            _check_order(groups, number, newest, taken)
            newest = max(newest, number)
            taken.add(number)
        found.append(number)
    return found


def _check_order(groups: Sequence[Group], number: int, newest: int, taken: set[int]) -> None:
    if number in taken:
        raise ContractError(f"message {groups[number].id} came back twice")
    if number > newest:
        return
    one, other = groups[number].items[0], groups[newest].items[0]
    # Results of one response may return in any order: together they are one message.
    if not (one.kind == other.kind == "tool_result" and one.message == other.message):
        raise ContractError(
            f"message {groups[number].id} came back after {groups[newest].id}: what is recorded keeps its order"
        )


def _kept(
    conversation: Conversation, group: Group, message: Message, reasoning: bool
) -> Iterator[tuple[int, str | None]]:
    """The places of a group that stay, each with its new text, or None if the text is unchanged."""
    if message.keys() == {"id"}:  # unchanged
        yield from ((item.place, None) for item in group.items)
        return
    if group.items[0].kind not in RESPONSE_KINDS:
        text = content_of(message) if "content" in message else group.items[0].text
        yield group.items[0].place, None if text == group.items[0].text else text
        return
    if "role" not in message:  # only the changed fields
        message = conversation.message(group) | message
    said = [item for item in group.items if item.kind == "assistant"]
    text = content_of(message)
    if text == text_of(group):
        yield from ((item.place, None) for item in said)
    elif text:
        if not said:
            raise ContractError(f"message {group.id} has a text that the model didn't say; make it another message")
        yield said[0].place, text
    calls = {str(call.get("id", "")): call for call in message.get("tool_calls") or ()}
    for item in group.items:
        if item.kind == "tool_call" and (call := calls.pop(conversation.calls[item.place], None)) is not None:
            yield item.place, _arguments(group, item, call)
        elif item.kind == "reasoning" and (not reasoning or "reasoning" in message):
            yield item.place, None
    if calls:
        raise ContractError(f"message {group.id} has a tool call that the model didn't make: {next(iter(calls))}")


def _calls_of(message: Message) -> list[tuple[str, Any]]:
    """The keys that identify a message: `tool` and the id that it answers, or `call` and the id of a call in it."""
    role = message.get("role")
    asked = [("tool", message.get("tool_call_id"))] if role == "tool" else []
    return asked + [("call", call.get("id")) for call in message.get("tool_calls") or () if role == "assistant"]


def _by_text(groups: Sequence[Group]) -> dict[tuple[str, str], list[int]]:
    """Groups by role and text, in order."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        found[role_of(group), text_of(group)].append(number)
    return found


def content_of(message: Message) -> str:
    """Return a message's content as one text: blocks are joined by line feeds, and None is ''."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list | tuple) and all(isinstance(one, str | Mapping) for one in content):
        return "\n".join(one if isinstance(one, str) else str(one.get("text", "")) for one in content)
    raise ContractError(f"message {message.get('id', '')}: content is {type(content).__name__}, not text or blocks")


def _arguments(group: Group, item: Item, call: Message) -> str | None:
    """A call's new arguments, given as text or as a value; None if they are equal as a value or as an object."""
    function = call.get("function") or {}
    if function.get("name", item.tool) != item.tool:
        raise ContractError(f"message {group.id} calls {function['name']}, the model called {item.tool}")
    arguments = function.get("arguments", item.text)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return None if text == item.text or any(read(text) == read(item.text) for read in (parsed, handed)) else text


def _is_head(message: Message, head: Head) -> bool:
    """Whether a message is the system prompt. Raises ContractError if its text was changed."""
    if message.get("id") == HEAD and content_of(message) != head.system:
        raise ContractError("the system prompt came back with another text: the head isn't a policy's to change")
    return message.get("id") == HEAD or (message.get("role") == "system" and content_of(message) == head.system)


def _gaps(
    groups: Sequence[Group], answer: Sequence[Message], matched: Sequence[int | None], drops: set[int]
) -> Iterator[tuple[int, list[Message], list[Item]]]:
    """Yield each run of unknown messages, between the next known group's index and the items dropped there."""
    after = 0
    unknown: list[Message] = []
    for message, number in [*zip(answer, matched, strict=True), ({}, len(groups))]:
        if number is None:
            unknown.append(message)
            continue
        if unknown:
            between = (item for group in groups[after:number] for item in group.items)
            yield number, unknown, [item for item in between if item.place in drops]
        after, unknown = max(after, number + 1), []


def _written(
    message: Message, about: Sequence[Item], known: Mapping[str, Sequence[Item]], summarize: Summarize
) -> str | None:
    """The text of an unknown message; None if its request for a summary of `about` is refused."""
    text, asked = content_of(message), message.get("summarize")
    if not asked:
        return text
    if asked is not True:
        if unknown := [name for name in asked if name not in known]:
            raise ContractError(f"a summary of message {unknown[0]} is asked for, which isn't there")
        about = [item for name in asked for item in known[name]]
    summary = summarize(about, message.get("max_tokens", MAX_TOKENS))
    if summary is None:
        return None
    return text.replace(SUMMARY, summary) if SUMMARY in text else f"{text}{summary}"
