"""Compares a built-in policy with a real agent on the agent's own conversation: what both send, where they differ."""

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.live.observed import Observation
from ctxsim.live.session import SUMMARY_TOKENS
from ctxsim.policies import Spec, open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item
from ctxsim.view import View

LEAST_SHARE = 0.02
"""Two cuts of a result are alike if their kept lines differ in size by at most this share, or LEAST_TOKENS."""

LEAST_TOKENS = 32

OWN_WORDS = 128
"""Tokens by which the words added to a result may differ: how its command ended, that something was left out."""


class Difference(msgspec.Struct, frozen=True):
    """The first call whose requests differ: the tokens of both requests, and one line for each difference."""

    call: int
    tokens_agent: int
    tokens_policy: int
    lines: tuple[str, ...]


class Amounts(msgspec.Struct, frozen=True):
    """Totals over the requests of a conversation, without the agent's requests for titles, checks and summaries."""

    tokens: int
    peak: int
    usd: float | None
    """Modelled dollars; None if the price of a request isn't known."""


class Comparison(msgspec.Struct, frozen=True):
    """An agent and a policy on the agent's own conversation; `first` is None where they never differ."""

    first: Difference | None
    agent: Amounts
    policy: Amounts


def compared(observation: Observation, label: str, provider: Provider) -> Comparison:
    """Return the first call for which a policy's request differs from the agent's, and the totals of both.

    The policy's summaries are as large as the endpoint's, unless the label gives a size. An item differs if only one of
    them sends it, if the sizes of the original lines they keep differ by more than 2 % and 32 tokens, or if the words
    they add differ by more than 128 tokens. Of summaries only the number is compared; notes are ignored.
    Raises UnknownName or LabelError.
    """
    counter = provider.counter()
    agent = list(replay(observation.transcript, observation.spec(), provider, counter))
    policy = list(replay(observation.transcript, _with_like_summaries(open_policy(label)), provider, counter))
    originals = {item.place: item.text for item in observation.transcript.items if item.kind == "tool_result"}
    first = None
    for theirs, ours in zip(agent, policy, strict=True):
        if lines := tuple(_differences(theirs.view, ours.view, originals, counter)):
            first = Difference(theirs.call, theirs.tokens_sent, ours.tokens_sent, lines)
            break
    return Comparison(first, _amounts(agent), _amounts(policy))


def _with_like_summaries(spec: Spec) -> Spec:
    """Return the policy with summaries of the size that the agent got, unless its label gives a size."""
    like = {"summary_tokens": str(SUMMARY_TOKENS)}
    links = tuple(
        (cls, name, {**like, **given} if like.keys() & {field.name for field in dataclasses.fields(cls)} else given)
        for cls, name, given in spec.links
    )
    return msgspec.structs.replace(spec, links=links)


def _amounts(calls: Sequence[Sent]) -> Amounts:
    usd = [sent.bill.cost.total if sent.bill.cost else None for sent in calls]
    known = [one for one in usd if one is not None]
    sizes = [sent.tokens_sent for sent in calls]
    return Amounts(sum(sizes), max(sizes), sum(known) if len(known) == len(usd) else None)


def _differences(theirs: View, ours: View, originals: dict[int, str], counter: Counter) -> Iterator[str]:
    """Yield a line for each recorded item that differs, in recorded order, then one for the number of summaries."""
    agent = {item.place: item for item in theirs if not item.synthetic}
    policy = {item.place: item for item in ours if not item.synthetic}
    for place in sorted(agent.keys() | policy.keys()):
        first, second = agent.get(place), policy.get(place)
        if first is None or second is None or not _alike(first, second, originals.get(place, ""), counter):
            sent = f"{_sent('agent', first, counter)}, {_sent('policy', second, counter)}"
            item = first or second
            yield f"item {place} ({item.tool or item.kind if item else ''}): {sent}"
    made = [sum(item.synthetic and item.kind == "summary" for item in view) for view in (theirs, ours)]
    if made[0] != made[1]:
        yield f"summaries: agent {made[0]}, policy {made[1]}"


def _alike(first: Item, second: Item, original: str, counter: Counter) -> bool:
    """Return whether two forms of a result keep as much of it. Lines that aren't in the original are added words."""
    if first.text == second.text:
        return True
    lines = set(original.split("\n"))
    kept, others = [], []
    for item in (first, second):
        own = [line for line in item.text.split("\n") if line not in lines]
        others.append(counter.text("\n".join(own)))
        kept.append(counter.item(item) - others[-1])
    apart = abs(kept[0] - kept[1])
    return apart <= max(LEAST_TOKENS, LEAST_SHARE * max(kept)) and abs(others[0] - others[1]) <= OWN_WORDS


def _sent(who: str, item: Item | None, counter: Counter) -> str:
    return f"{who} sends {counter.item(item):,} tokens" if item else f"{who} leaves it out"
