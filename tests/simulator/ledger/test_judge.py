"""The naive judge agrees on every column, whatever the conversation, the policy and the vendor's rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from judge import Judge
from samples import spec_of

from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.results.columns import CallRow
from ctxsim.simulator.ledger.kernel import CAUSES
from ctxsim.simulator.measure.measured import Basis, measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.provider.rules import Other, RateLimit
from ctxsim.simulator.provider.vendor import load_vendor, vendor_names
from ctxsim.synthesis import load_scenario, scenario_names, synthesize
from ctxsim.transcript import Call, Head, Item, Media, Transcript, Usage
from ctxsim.view import View

POLICIES = (
    "keep-all", "drop-all", "token-budget:budget=900,retain=20", "truncate-after-use:retain=30",
    "max-result-chars:chars=300", "max-messages:n=6", "head-tail:lines=4,bytes=200", "fifo:budget=800", "mask:keep=2",
    "mask:keep=1,batch=2", "char-budget:chars=3000,keep_tools=2,snippet=900,keep_turns=2", "retry", "json-aware",
    "summary", "three-layer", "clear-tool-uses", "round-summary", "head-tail:lines=3,bytes=120+mask:keep=1",
    "token-approx-budget", "round-summary+claude-code", "codex", "opencode", "gemini-cli", "openhands",
)  # fmt: skip


TEXTS = ("ok", "", "word " * 300, "line one\nline two src/Zebra.py\n" * 60, "order_12 getUserId 5678", "x" * 1500,
         "é漢字🙂" * 40, '{"path": "src/Zebra.py", "n": [1, 2]}', "the quick brown fox jumps over it")  # fmt: skip


def conversation(dice: random.Random) -> Transcript:
    """A valid conversation of a few calls: parallel calls, reasoning, images, pauses, lost caches, two heads."""
    items: list[Item] = []
    calls: list[Call] = []
    message, now_s = 0, 0.0
    heads = [
        Head("You are an agent. " * dice.randint(0, 60), ('{"name": "read"}',) * dice.randint(0, 2)) for _ in range(2)
    ]
    other, timed = dice.random() < 0.2, dice.random() < 0.7
    models = dice.choice((("",), ("",), ("", "b"), ("", "b", "c")))
    model = ""

    def add(kind: str, text: str, tool: str = "", answers: int | None = None, media: tuple[Media, ...] = ()) -> None:
        called = f"id{len(items)}" if kind == "tool_call" else items[answers].call_id if answers is not None else ""
        items.append(Item(kind, len(items), message, text, tool, answers, called, media))  # type: ignore[arg-type]

    for number in range(dice.randint(1, 14)):
        # Now and then more at once than a cache looks back over.
        for _ in range(dice.choice((1, 1, 1, 1, 1, 1, 1, 24)) if number == 0 or dice.random() < 0.2 else 0):
            message += 1
            add("user", dice.choice(TEXTS))
        message, start = message + 1, len(items)
        if dice.random() < 0.4:
            add("reasoning", dice.choice(TEXTS))
        if dice.random() < 0.5:
            add("assistant", dice.choice(TEXTS))
        for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
            add("tool_call", dice.choice(TEXTS), dice.choice(("read", "search")))
        asked = [item for item in items[start:] if item.kind == "tool_call"]
        now_s += dice.choice((1.0, 5.0, 20.0, 400.0, 4000.0))
        said = Usage(dice.randint(1, 9_000), dice.choice((None, dice.randint(0, 300)))) if dice.random() < 0.5 else None
        head = heads[1] if other and dice.random() < 0.3 else None
        held = dice.choice((0, 0, 60, 150, 400, 900, 10_000)) if dice.random() < 0.15 else None
        model = dice.choice(models) if dice.random() < 0.4 else model
        calls.append(Call(start, len(items), said, now_s if timed else None, model, head=head, held=held))
        message += 1
        for call in dice.sample(asked, len(asked)):
            add("tool_result", dice.choice(TEXTS), call.tool, call.place, (Media("image", 90),) * (dice.random() < 0.1))
        if not asked:
            add("user", dice.choice(TEXTS))
    return Transcript("generated", heads[0], tuple(items), tuple(calls))


def provider_of(vendor: str, dice: random.Random) -> Provider:
    """A provider under a vendor's rules, with a window that some requests don't fit in."""
    limit = RateLimit(
        dice.choice((1_500, 4_000, 20_000)),
        dice.choice((None, 3)),
        dice.random() < 0.5,
        dice.choice((0, 100)),
        dice.random() < 0.3,
    )
    return Provider(
        window=dice.choice((1_200, 2_500, 6_000, 200_000)),
        reserved_output=dice.choice((0, 200)),
        vendor=vendor,
        framing=vendor,
        cache=vendor,
        breakpoints=dice.choice(("last-two-user", "system-tools-last", "automatic", "none")),
        long_cache=dice.random() < 0.3,
        reasoning=dice.choice(("never", "current_turn", "all")),
        thinking=dice.choice(("none", "refuse", "drop")),
        misses=dice.choice(("none", "none", "expected")),
        rate_limit=limit if dice.random() < 0.3 else None,
        prices=Prices(3.0, 15.0, *dice.choice(((None, None, None), (0.3, 3.75, 6.0)))),
        others=(
            Other("b", "claude-haiku-4-5", Prices(1.0, 5.0, 0.1, 1.25, 2.0)),
            Other("c", "gpt-5.5", Prices(2.0, 9.0)),
        ),
        usage_factor=dice.choice((1.0, 1.0, 0.0, 0.5)),
        pace_s=dice.choice((0.0, 10.0, 400.0)),
        summaries=dice.choice(("extractive", "empty")),
    )


def differences(
    transcript: Transcript, policies: Sequence[str | Spec], provider: Provider
) -> tuple[list[str], set[str]]:
    """What the judge and the package say differently of the calls of some replays; and what happened in them."""
    rules = load_vendor(provider.framing).framing.of(provider.model), load_vendor(provider.cache).cache
    full = list(Judge(transcript, open_policy("keep-all"), provider, *rules, references=False).rows())
    basis = Basis(transcript, provider, provider.counter())
    found, seen = [], set()
    for policy in policies:
        spec = policy if isinstance(policy, Spec) else open_policy(policy)
        theirs, ours = list(Judge(transcript, spec, provider, *rules).rows()), measure(basis, spec).rows
        for one, other, whole in zip(ours, theirs, full, strict=True):
            said = msgspec.structs.asdict(one)
            wanted: dict[str, Any] = {**other, "tokens_full": whole["tokens_sent"], "policy": spec.label}
            found += [
                f"{spec.label}, call {one.call}: {name} is {said[name]}, by the judge {value}"
                for name, value in wanted.items()
                if said[name] != value
                and not (isinstance(value, float) and said[name] == pytest.approx(value, abs=1e-9))
            ]
            seen |= {one.status, one.trigger, one.cache_break} | {name for name, value in said.items() if value}
    return found, seen


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_every_column(part: int) -> None:
    """168 conversations, each under four policies: each pair of a policy and a vendor twice."""
    dice, seen = random.Random(part), set[str]()
    mixed = dice.sample(POLICIES, len(POLICIES))
    for labels in zip(*[iter(mixed)] * 4, strict=True):
        for vendor in vendor_names():
            apart, happened = differences(conversation(dice), labels, provider := provider_of(vendor, dice))
            assert not apart, (provider, apart)
            seen |= happened
    assert seen >= {"ok", "overflow", "rate_limited", "invalid_pairs", "stopped", "false-safe", "false-alarm", *CAUSES}
    assert seen >= {name for name in CallRow.__struct_fields__ if name not in NOT_MADE}


NOT_MADE = {"cost_recorded_usd"}
"""Columns that no generated conversation fills."""


class SumsUpResults(Policy):
    """Asks for a summary of the conversation with each result, behind the conversation's own head."""

    summary_head = None

    def start(self) -> None:
        self.seen: list[Item] = []

    def before_call(self, view: View) -> View:
        self.seen = list(view)
        return view

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(self.sees.summarize([*self.seen, item], 50) or "none")


def test_summaries_of_results() -> None:
    dice = random.Random(0)
    for vendor in vendor_names():
        apart, _ = differences(conversation(dice), [spec_of(SumsUpResults)], provider := provider_of(vendor, dice))
        assert not apart, (provider, apart)


@pytest.mark.parametrize("scenario", scenario_names())
def test_scenarios(scenario: str) -> None:
    found = load_scenario(scenario)
    made = synthesize(found)
    provider = resolve({}, (found.name, found.provider), None, ())
    short = msgspec.structs.replace(made, calls=made.calls[:SOME])
    assert not differences(short, ("keep-all", "mask:keep=3", "codex"), provider)[0]


SOME = 12
"""Calls of each: the judge is slow."""
