"""Survival of planted canaries in the same texts, by another kit's probe and by ours: `python -m evidence.conformance`.

compaction-conformance-kit (PyPI, MIT; read at 0.8.0) plants safety rules, constraints, facts, goals and preferences in
chats. It must be installed where this runs. Its seeded session and twenty random ones are read as transcripts. Eight of
our policies act on each for three rounds: on the session, and twice more on what is left. After each round the kit's
probe and our search look for each canary. It prints a line for each policy, and one for each way in which they differ.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter as Frequencies
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ctxsim.answers.compactions.policies_beside import left_by
from ctxsim.errors import CtxsimError
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.canonical import canonical
from ctxsim.transcript import Head, Item
from evidence.recall.held import Holds

SEEDS = range(1, 21)
ROUNDS = 3
POLICIES = (
    "keep-all", "drop-all", "char-budget:chars={chars},keep_turns=4", "fifo:budget={tokens}", "max-messages:n={messages}",
    "token-approx-budget:budget={tokens},keep_turns=4", "summary:at=0.000001,keep_last={messages},max_tokens=300",
    "summary:at=0.000001,keep_last=1",
)  # fmt: skip
LEFT = 0.6
"""About the share of the previous round that budgets leave."""


class Canary(NamedTuple):
    """One planted statement, and the tokens of it that a request must hold."""

    kind: str
    tokens: tuple[str, ...]
    statement: str
    theirs: Any


class Seen(NamedTuple):
    """One canary after one round: whether it survives by their probe, by our search, and whole, as our needles must.

    `stale`: by each, whether only an older value that it had replaced remains; None if it had replaced none.
    """

    policy: str
    round: int
    kind: str
    theirs: bool
    ours: bool
    whole: bool
    stale: tuple[bool, bool] | None
    difference: str


def chat(turns: Sequence[Any]) -> tuple[Head, tuple[Item, ...]]:
    """Return a session of the kit as a head and items."""
    roles = {"user": "user", "assistant": "assistant"}
    items = [one for one in turns if one.role != "system"]
    head = Head("\n".join(one.text for one in turns if one.role == "system"))
    return head, tuple(Item(roles[one.role], n, n, one.text) for n, one in enumerate(items))  # type: ignore[arg-type]


def again(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return what a round left as the next round's items: summaries become user texts."""
    return tuple(
        Item("user" if one.synthetic else one.kind, number, number, one.text) for number, one in enumerate(items)
    )


def rounds(head: Head, items: tuple[Item, ...], pattern: str) -> Iterator[tuple[Item, ...]]:
    """Yield what a policy leaves of a chat after each round."""
    provider = Provider()
    counter = provider.counter()
    for _ in range(ROUNDS):
        tokens = int(LEFT * sum(map(counter.item, items))) + counter.head(head)
        label = pattern.format(tokens=tokens, messages=max(2, int(LEFT * len(items))),
                               chars=int(LEFT * sum(len(item.text) for item in items)))  # fmt: skip
        items = again(left_by(label, items, head, provider, counter).items)
        yield items


def compared(policy: str, number: int, canary: Canary, head: Head, items: Sequence[Item], probe: Any) -> Seen:
    """Return what the probe and our search find of one canary in one request, and how they differ."""
    texts = [*head.texts, *(item.text for item in items)]
    theirs = probe.probe(canary.theirs, "\n".join(texts)).survived
    held = Holds([Item("user", 0, 0, text) for text in texts])
    ours = all(token in held for token in canary.tokens)
    whole = any(canonical(canary.statement) in canonical(text) for text in texts)
    old = canary.theirs.superseded_tokens
    text = "\n".join(texts).lower()
    stale = (
        (any(one.lower() in text for one in old) and not theirs, any(one in held for one in old) and not ours)
        if old
        else None
    )
    return Seen(policy, number, canary.kind, theirs, ours, whole, stale, difference(theirs, ours, canary, texts))


def difference(theirs: bool, ours: bool, canary: Canary, texts: Sequence[str]) -> str:
    """Return in words why the two differ; '' if they don't."""
    if theirs == ours:
        return ""
    if theirs:
        held = Holds([Item("user", 0, 0, text) for text in texts])
        missing = [token for token in canary.tokens if token not in held]
        if all(any(f"//{token}" in text.lower() for text in texts) for token in missing):
            return "theirs finds a host name inside its URL; for us the URL is one token"
        if all(any(token.lower() in text.lower() for text in texts) for token in missing):
            return "theirs finds it inside a longer word: " + ", ".join(missing)
        return "theirs finds it across two texts"
    return "ours finds it in canonical form only"


def sessions() -> Iterator[tuple[Head, tuple[Item, ...], list[Canary]]]:
    """Yield the kit's seeded session and its random ones, each with its canaries. Raises CtxsimError without the kit."""
    try:
        of_session, corpus, canaries = (
            importlib.import_module(f"compaction_kit.{name}") for name in ("session", "corpus", "canaries")
        )
    except ImportError:
        raise CtxsimError("compaction-conformance-kit is not installed here; pip install it first") from None
    pairs = [(of_session.build_seeded_session(), canaries.seeded_canaries())]
    pairs += [corpus.build_random_session(seed) for seed in SEEDS]
    for session, planted in pairs:
        head, items = chat(session.transcript())
        yield head, items, [
            Canary(
                one.type.value,
                tuple(dict.fromkeys((*one.required_tokens, *one.behavior_required_tokens,
                                     *one.exact_use_required_tokens))),
                one.content,
                one,
            )
            for one in planted
        ]  # fmt: skip


def main() -> None:
    """Print survival by kind after each round, by both, and what differs."""
    seen = []
    probe = importlib.import_module("compaction_kit.probes").BehaviorProbe()
    for head, items, planted in sessions():
        for policy in POLICIES:
            for number, left in enumerate(rounds(head, items, policy), 1):
                seen += [compared(policy, number, one, head, left, probe) for one in planted]
    kinds = sorted({one.kind for one in seen})
    print(f"| survival after each of {ROUNDS} rounds: their probe (ours) | {' | '.join(kinds)} | whole statement |")
    print(f"|---|{'--:|' * (len(kinds) + 1)}")
    for policy in POLICIES:
        cells = []
        for kind in (*kinds, ""):
            shares = []
            for number in range(1, ROUNDS + 1):
                of = [one for one in seen if (one.policy, one.round) == (policy, number) and kind in ("", one.kind)]
                theirs, ours, whole = (sum(values) / len(of) for values in zip(*(one[3:6] for one in of), strict=True))
                same = f"{theirs:.0%}" if theirs == ours else f"{theirs:.0%} ({ours:.0%})"
                shares.append(same if kind else f"{whole:.0%}")
            cells.append(", ".join(shares))
        print(f"| `{policy}` | {' | '.join(cells)} |")
    replaced = [(one.policy, one.stale) for one in seen if one.stale]
    print(f"\nOf {len(replaced)} looks for what had replaced an older value, that one alone remained (theirs, ours):")
    for policy in POLICIES:
        of = [stale for name, stale in replaced if name == policy]
        print(f"{sum(stale[0] for stale in of):>6} {sum(stale[1] for stale in of):>6} of {len(of)} {policy}")
    differing = Frequencies(one.difference for one in seen if one.difference)
    print(f"\n{len(seen)} canaries looked for, {sum(differing.values())} of them told differently:")
    for reason, number in differing.most_common():
        print(f"{number:>6} {reason}")


if __name__ == "__main__":
    try:
        main()
    except CtxsimError as error:
        sys.exit(str(error))
