"""Differences between frameworks' messages: results packed or one by one, the system message apart."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from ctxsim.policies.foreign.conversation import Message


def packed(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield groups of messages: the results that follow one response together, any other message alone."""
    for answers, group in groupby(messages, lambda message: message["role"] == "tool"):
        run = list(group)
        yield from [run] if answers else ([message] for message in run)


def without_head(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the system message, if there is one, and the others. Most frameworks store them separately."""
    cut = 1 if messages and messages[0]["role"] == "system" else 0
    return list(messages[:cut]), list(messages[cut:])
