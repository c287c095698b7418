"""What a schedule of clearings costs, against a replay that clears at the same calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import msgspec
import pytest
from samples import basis_of, conversation

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Policy, Spec
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.vendor import Binding, Breakpoints, CacheRule, Resend, Vendor, load_vendor
from ctxsim.simulator.references.finding import first_sent
from ctxsim.simulator.replay import Replay
from ctxsim.transcript import Call, Head, Item, Kind, Media, Transcript
from ctxsim.view import View

STUB = "gone"
PRICES = Prices(input=((0, 3.0), (200, 6.0)), output=15.0, cache_read=0.3, cache_write=4.0)


class Letters:
    """Each letter is a token."""

    name = vocabulary_sha256 = "letters"

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def ids(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]


def conversation_of(rng: Random) -> Transcript:
    """Up to a dozen calls with thinking, words, parallel tools and users between them; pauses, and clocks set back."""
    items: list[Item] = []
    calls: list[Call] = []
    now, message = 0.0, 0

    def add(kind: Kind, text: str, **more: object) -> None:
        given = {"kind": kind, "place": len(items), "message": message, "text": text, **more}
        items.append(msgspec.convert(given, Item))

    for _ in range(rng.randint(2, 12)):
        for _ in range(rng.choice([0, 1, 1, 2])):
            message += 1
            if rng.random() < 0.1:
                add("reasoning", "r" * rng.randint(1, 30))
            add("user", "u" * rng.randint(1, 30))
        now += rng.choice([1, 2, 5, -3, 40])
        message += 1
        start, tools = len(items), rng.choice([0, 1, 2, 3])
        if rng.random() < 0.5:
            add("reasoning", "r" * rng.randint(1, 30))
        if rng.random() < 0.5 or not tools:
            add("assistant", rng.choice(["rra", "a"]) * rng.randint(1, 10))
        asked = len(items)
        for tool in range(tools):
            add("tool_call", "{}", tool="read", call_id=f"{start}.{tool}")
        calls.append(Call(start, len(items), time_s=now, held=0 if rng.random() < 0.05 else None))
        message += 1
        for tool in range(tools):
            text = rng.choice(["g", "go", "gone", "x"]) * rng.randint(1, 30)
            media = (Media("image", 7),) if rng.random() < 0.1 else ()
            add("tool_result", text, call_id=f"{start}.{tool}", answers=asked + tool, media=media)
    if rng.random() < 0.5:
        calls = [msgspec.structs.replace(call, time_s=None) for call in calls]
    return Transcript("made", Head("s" * rng.choice([0, 20, 60])), tuple(items), tuple(calls))


def provider_of(rng: Random, patched: pytest.MonkeyPatch) -> Provider:
    """A provider whose cache has a rule of its own, small enough for small requests to run into it."""
    rule = CacheRule(
        kind=rng.choice(["none", "breakpoints", "breakpoints", "prefix", "prefix"]),
        minimum_tokens=rng.choice([0, 50, 120]),
        step=rng.choice([1, 16]),
        partial_items=rng.random() < 0.5,
        responses=("*",) if rng.random() < 0.5 else (),
        paid_writes=rng.random() < 0.5,
        lifetime_s=rng.choice([4, 8, 1_000]),
        max_breakpoints=rng.choice([1, 2, 4]),
        implicit=rng.random() < 0.5,
        lookback=rng.choice([1, 2, 3, 4, 50]),
        readable=rng.choice([1, 2, 1_000]),
    )
    own = Vendor("own", framing=load_vendor(rng.choice(["none", "anthropic", "openai"])).framing, cache=rule)
    for user in ("ledger.kernel", "ledger.frames"):
        patched.setattr(f"ctxsim.simulator.{user}.load_vendor", lambda name: own)
    breakpoints: list[Breakpoints] = ["last-two-user", "system-tools-last", "automatic", "none"]
    reasoning: list[Resend] = ["never", "current_turn", "current_turn", "all"]
    thinking: list[Binding] = ["none", "drop", "refuse"]
    return Provider(
        breakpoints=rng.choice(breakpoints),
        reasoning=rng.choice(reasoning),
        # What stands behind a clearing may be dropped; a refused request doesn't wait.
        thinking=rng.choice(thinking),
        prices=PRICES if rng.random() < 0.9 else None,
        pace_s=rng.choice([0, 3, 30]),
        # Waiting lets entries expire.
        rate_limit=rng.choice([None, None, RateLimit(tokens_per_minute=600)]),
    )


@dataclass
class Clearing(Policy):
    """Sends a stub in the place of each result from a given call on."""

    def start(self) -> None:
        self.call = 0

    def before_call(self, view: View) -> View:
        self.call += 1
        due = [place for place, call in times.items() if call == self.call]
        return view.rewrite(dict.fromkeys(due, STUB), "cleared")


times: dict[int, int] = {}


@pytest.mark.parametrize("seed", range(8))
def test_a_schedule_costs_what_a_policy_pays_that_clears_by_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    for _ in range(40):
        transcript, provider = conversation_of(rng), provider_of(rng, monkeypatch)
        ledger = Ledger(transcript, provider, Counter(Letters()))
        sent, calls = first_sent(transcript), len(transcript.calls)
        results = [item.place for item in transcript.items if item.kind == "tool_result"]
        for share in (0, 0.7, 0.7, 0.7):
            times.clear()
            times.update({place: rng.randint(sent[place] + 1, calls + 2) for place in results if rng.random() < share})
            spec = Spec("clearing", ((Clearing, "clearing", {}),), open_estimator())
            paid = [round(one.bill.cost.total, 10) if one.bill.cost else 0.0 for one in Replay(ledger, spec)]
            assert list(ledger.usd_if_cleared(times, STUB)) == paid


def test_a_head_that_every_call_names_is_the_one_that_is_sent() -> None:
    from samples import TASK, chat, run

    made = chat(TASK, ("assistant", "ok"), head=Head("short"))
    named = tuple(msgspec.structs.replace(call, head=Head("be good " * 100)) for call in made.calls)
    made = msgspec.structs.replace(made, calls=named)
    provider = Provider(prices=PRICES)
    paid = [one.cost_usd for one in run(made, "keep-all", prices=PRICES)]
    assert list(Ledger(made, provider, provider.counter()).usd_if_cleared({}, STUB)) == paid


def test_how_much_of_each_request_is_read_whole() -> None:
    # Requests of 300, 398 and 498 tokens; the results stand at 2 and 4. Without a cache nothing is read, not even the
    # first item. In units of 64 tokens: 256 to 319 of the second request, 384 to 447 of the third.
    made = conversation(" a" * 96, " a" * 98, system=" a" * 296)
    # All was read of a request that others had sent.
    sent_before = msgspec.structs.replace(
        made, calls=(msgspec.structs.replace(made.calls[0], held=300), *made.calls[1:])
    )
    for transcript, cache, unread in (
        (made, "none", [0, 0, 0]),
        (made, "deepseek", [0, 2, 4]),
        (sent_before, "deepseek", [6, 2, 4]),
    ):
        kept = basis_of(transcript, Provider(cache=cache)).ledger.kept
        assert ([step.split.total for step in kept], [step.unread for step in kept]) == ([300, 398, 498], unread)


@pytest.mark.parametrize(("system", "unread"), [(313, 2), (314, 1)])
def test_what_ends_within_a_step_that_was_read_in_part_counts_as_read(system: int, unread: int) -> None:
    # Of the second request 256 tokens are read, at most 319 were the same: the call ends at 319, or at 320.
    made = conversation(" a" * 96, system=" a" * system)
    kept = basis_of(made, Provider(cache="deepseek")).ledger.kept
    assert (kept[1].split.read, kept[1].unread) == (256, unread)
