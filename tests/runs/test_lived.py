"""What an agent lived: its calls as symptoms and rows see them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from samples import call_rows, conversation

from ctxsim.live.log import Entry
from ctxsim.runs import driven as room
from ctxsim.runs.doctor import Defect
from ctxsim.runs.driven import UNPLAYED, _Lived, examine_driven
from ctxsim.runs.observed import REQUESTS, _as_observed
from ctxsim.simulator.provider.prices import Prices
from ctxsim.synthesis.scenario import Expectation


def entry(kind: str, status: int = 200, cost: float | None = 0.5, **more: Any) -> Entry:
    return Entry("default", 1, kind, 0, status, 100, 7, cost, {}, {}, **more)


def observed(*helpers: Entry, refused: str | None = None, tries: int = 1) -> Any:
    """Of one call what was asked beside it, why it was refused, and how often it was tried."""
    return SimpleNamespace(
        helpers={2: list(helpers)}, refused={} if refused is None else {2: refused}, attempts=((1,), (1,) * tries)
    )  # fmt: skip


def sent(cost: float | None = 2.0, call: int = 2) -> Any:
    return SimpleNamespace(call=call, cost_usd=cost, tokens_sent=9)


@pytest.mark.parametrize(
    ("helpers", "calls", "usd"),
    [
        ((), 0, 2.0), ((entry("summary"), entry("summary", cost=None)), 2, 2.5), ((entry("title"),), 0, 2.0),
        ((entry("summary", status=429), entry("summary", retry=True), entry("summary")), 1, 2.5),
    ],
)  # fmt: skip
def test_summaries_that_were_answered_count(helpers: tuple[Entry, ...], calls: int, usd: float) -> None:
    lived = _Lived(sent(), observed(*helpers))
    assert (lived.summary_calls, lived.cost_usd, lived.attempts, lived.status) == (calls, usd, 1, "ok")
    assert lived.tokens_sent == 9 and _Lived(sent(None), observed(*helpers)).cost_usd is None
    assert _Lived(sent(call=1), observed(*helpers)).summary_calls == 0


@pytest.mark.parametrize(
    ("refused", "status"),
    [("Invalid request: a result answers nothing", "invalid_pairs"), ("invalid request", "invalid_pairs"),
     ("too long", "overflow"), ("", "overflow")],
)  # fmt: skip
def test_a_refusal_is_for_its_pairs_or_for_its_size(refused: str, status: str) -> None:
    lived = _Lived(sent(), observed(refused=refused, tries=3))
    assert (lived.status, lived.attempts) == (status, 3)


def test_what_an_agent_may_only_not_have_shown_yet_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    made = conversation("one", "two")
    counter = object()
    provider: Any = SimpleNamespace(counter=lambda: counter)
    calls = [sent(call=1), sent()]
    monkeypatch.setattr(room, "replay", lambda transcript, spec, provider, counter: calls)
    seen: Any = SimpleNamespace(
        **vars(observed()), label="observed:mine",
        transcript=msgspec.structs.replace(made, items=tuple(
            item.with_text("<env> Do the task.") if item.kind == "user" else item for item in made.items
        )), spec=lambda: None,
    )  # fmt: skip
    judged: list[Any] = []
    value = [0.12345]

    def symptom(transcript: Any, lived: Any, whole: Any) -> float:
        judged.append((transcript, [one.call for one in lived], whole))
        return value[0]

    monkeypatch.setitem(room.SYMPTOMS, "mine", symptom)
    scenario: Any = SimpleNamespace(name="x")
    defect = Defect(scenario, Expectation("That", "mine", 0.2))

    def script(steps: int) -> Any:
        return SimpleNamespace(transcript=made, steps=range(steps))

    found = examine_driven(defect, seen, script(2), provider)
    assert found is not None and (found.policy, found.value, found.has_it) == ("observed:mine", 0.123, False)
    # The user's own words are looked for, not what an agent writes around them.
    assert judged[0][0].items == made.items and judged[0][1] == [1, 2] and judged[0][2] is not None
    assert examine_driven(defect, seen, script(3), provider) is None, "it ended early"
    value[0] = 0.3
    assert (found := examine_driven(defect, seen, script(3), provider)) is not None and found.has_it
    assert len(UNPLAYED) == 6 and "images" in UNPLAYED


ROW = call_rows(conversation("one", "two"), "keep-all", prices=Prices(input=1.0, output=1.0), cache="none")[1]


def test_a_row_has_the_summaries_that_were_asked_for_and_their_dollars() -> None:
    assert ROW.cost_usd is not None
    event: Any = SimpleNamespace(call=2, action="dropped", moment="before_call")
    plain = _as_observed(ROW, [], observed())
    assert plain == msgspec.structs.replace(ROW, compactions=0)
    asked = (entry("summary"), entry("title", cost=0.25), entry("summary", status=400), entry("check", retry=True))
    row = _as_observed(ROW, [event], observed(*asked))
    assert (row.compactions, row.summary_calls, row.tokens_summary_in, row.tokens_summary_out) == (1, 1, 100, 7)
    assert row.cost_usd == pytest.approx(ROW.cost_usd + 0.75)
    assert row.cost_summary_usd == pytest.approx((ROW.cost_summary_usd or 0.0) + 0.75)
    bare = msgspec.structs.replace(ROW, cost_usd=None, cost_summary_usd=None)
    assert _as_observed(bare, [], observed(*asked)).cost_usd is None
    assert _as_observed(bare, [], observed(*asked)).cost_summary_usd is None
    for other in ({"call": 1}, {"action": "inserted"}, {"moment": "on_tool_result"}):
        one: Any = SimpleNamespace(**(vars(event) | other))
        assert _as_observed(ROW, [one], observed()).compactions == 0
    assert len(REQUESTS) == 13 and REQUESTS[0] == "policy"


def test_what_the_endpoint_refused_is_refused_here_too() -> None:
    row = _as_observed(ROW, [], observed(refused="a result twice"))
    assert (row.status, row.reason) == ("invalid_pairs", "a result twice")
    large = msgspec.structs.replace(ROW, status="overflow", reason="too long")
    assert _as_observed(large, [], observed(refused="other")).reason == "too long"
