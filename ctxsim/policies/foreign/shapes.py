"""What differs between the messages of frameworks: how arguments are written, and where results are packed."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ctxsim.counting.estimators.serialized import handed
from ctxsim.policies.foreign.conversation import Message


class Arguments:
    """A call's arguments as a framework holds them, a dict, and back as the text that they were."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, dict[str, Any]]] = {}

    def parsed(self, call: Message) -> dict[str, Any]:
        """Return the arguments of a call; what isn't an object stands under `input`."""
        text = call["function"]["arguments"]
        arguments = handed(text)
        self._texts[call["id"]] = (text, arguments)
        # A framework may change what it is given.
        return json.loads(json.dumps(arguments)) if arguments else {}

    def text(self, name: str, arguments: Any) -> str:
        """Return arguments that came back as text: the call's own text where they are the same."""
        text, known = self._texts.get(name, ("", None))
        if isinstance(arguments, str):
            return arguments
        return text if arguments == known else json.dumps(arguments, ensure_ascii=False)


def packed(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages, the results that answer one response together."""
    for answers, group in groupby(messages, lambda message: message["role"] == "tool"):
        run = list(group)
        yield from [run] if answers else ([message] for message in run)


def without_head(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the system message, if there is one, and the others: most frameworks hold them apart."""
    cut = 1 if messages and messages[0]["role"] == "system" else 0
    return list(messages[:cut]), list(messages[cut:])
