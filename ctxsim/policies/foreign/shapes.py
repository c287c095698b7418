"""Differences between frameworks' messages: arguments as text or dict, results packed or one by one."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ctxsim.counting.estimators.serialized import handed
from ctxsim.policies.foreign.conversation import Message


class Arguments:
    """Converts calls' arguments to a dict, as a framework holds them, and back to their original text."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, dict[str, Any]]] = {}

    def parsed(self, name: str, text: str) -> dict[str, Any]:
        """Return the arguments of the call with this id as a dict. A value that isn't an object is under `input`."""
        arguments = handed(text)
        self._texts[name] = (text, arguments)
        # A copy, because a framework may change it.
        return json.loads(json.dumps(arguments)) if arguments else {}

    def text(self, name: str, arguments: Any) -> str:
        """Return returned arguments as text: the original text of the call with this id, if they are unchanged."""
        text, known = self._texts.get(name, ("", None))
        if isinstance(arguments, str):
            return arguments
        return text if arguments == known else json.dumps(arguments, ensure_ascii=False)


def packed(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield groups of messages: the results that follow one response together, any other message alone."""
    for answers, group in groupby(messages, lambda message: message["role"] == "tool"):
        run = list(group)
        yield from [run] if answers else ([message] for message in run)


def without_head(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the system message, if there is one, and the others. Most frameworks store them separately."""
    cut = 1 if messages and messages[0]["role"] == "system" else 0
    return list(messages[:cut]), list(messages[cut:])
