"""A built-in policy beside the real agent, on the agent's own conversation: the first request in which they differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.replay import replay
from ctxsim.serve.observed import Observation
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Item
from ctxsim.view import View

LEAST_SHARE = 0.02
"""Texts that differ in size by no more than this share are cut alike: only the words about the cut differ."""

LEAST_TOKENS = 32


class Difference(msgspec.Struct, frozen=True):
    """The first call whose requests differ, the tokens of both, and one line for each item that does."""

    call: int
    tokens_agent: int
    tokens_policy: int
    lines: tuple[str, ...]


def first_difference(observation: Observation, label: str, provider: Provider) -> Difference | None:
    """Return where a policy first sends something else than the agent did; None if it never does.

    An item that one of them sends and the other doesn't is a difference, and so is one whose size differs by more than
    2 % and 32 tokens. Of summaries and notes only the number counts. Raises UnknownName or LabelError.
    """
    counter = provider.counter()
    agent = replay(observation.transcript, observation.spec(), provider, counter)
    policy = replay(observation.transcript, open_policy(label), provider, counter)
    for theirs, ours in zip(agent, policy, strict=True):
        lines = tuple(_differences(theirs.view, ours.view, counter))
        if lines:
            return Difference(theirs.call, theirs.tokens_sent, ours.tokens_sent, lines)
    return None


def _differences(theirs: View, ours: View, counter: Counter) -> Iterator[str]:
    """Each item that differs, in recorded order, then what they made themselves."""
    agent = {item.place: item for item in theirs if not item.synthetic}
    policy = {item.place: item for item in ours if not item.synthetic}
    for place in sorted(agent.keys() | policy.keys()):
        first, second = agent.get(place), policy.get(place)
        sizes = [counter.item(item) if item else 0 for item in (first, second)]
        apart = abs(sizes[0] - sizes[1]) > max(LEAST_TOKENS, LEAST_SHARE * max(sizes))
        if first is None or second is None or apart:
            sent = f"{_sent('agent', first, sizes[0])}, {_sent('policy', second, sizes[1])}"
            yield f"{_named(first or second, place)}: {sent}"
    made = [sum(item.synthetic and item.kind == "summary" for item in view) for view in (theirs, ours)]
    if made[0] != made[1]:
        yield f"summaries: agent {made[0]}, policy {made[1]}"


def _named(item: Item | None, place: int) -> str:
    return f"item {place} ({item.tool or item.kind if item else ''})"


def _sent(who: str, item: Item | None, tokens: int) -> str:
    return f"{who} sends {tokens:,} tokens" if item else f"{who} leaves it out"
