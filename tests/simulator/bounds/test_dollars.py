"""The least dollars of a conversation, and of schedules near it, by hand: 2 dollars a token, 0.2 one that is read."""

from __future__ import annotations

from datetime import time

import msgspec
import pytest
from samples import ASK, TASK, basis_of, chat

from ctxsim.simulator.bounds.frontier import cheapest_usd
from ctxsim.simulator.bounds.lossless import scheduled
from ctxsim.simulator.measure.measured import Basis
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Hours, Prices
from ctxsim.simulator.provider.rules import Other
from ctxsim.transcript import Head

CACHED = Prices(input=2e6, output=4e6, cache_read=2e5, cache_write=2.5e6)
A = "zebra_zero zebra_one zebra_three" + " a" * 30
B = "zebra_two" + " b" * 50
MADE = chat(
    TASK, ASK, ("tool_result", A), ("tool_call", '{"q": "zebra_zero"}'), ("tool_result", B), ("assistant", "zebra_one"),
    ("user", "more"), ("assistant", "zebra_three zebra_two"), head=Head("You read."),
)  # fmt: skip
"""Result A is in requests 2 to 4 and used by calls 3 and 4 (and at once by call 2), B in 3 and 4 and used by call 4."""


def basis(cache: str = "anthropic", model: str = "") -> tuple[Basis, int, int, list[int], float]:
    """The basis, the tokens of both results, those of each request without them, what the output costs."""
    made = basis_of(MADE, Provider(cache=cache, model=model, prices=CACHED))
    a, b = made.counter.text(A), made.counter.text(B)
    requests = [sent - has for sent, has in zip(made.keep_all.calls["tokens_sent"], (0, a, a + b, a + b), strict=True)]
    return made, a, b, requests, 4 * sum(made.keep_all.calls["tokens_output"])


def test_what_a_result_costs_is_its_first_request_and_all_until_each_reader() -> None:
    made, a, b, requests, output = basis()
    found = made.frontiers["results"]
    # The last request is all that was ever new; the others are read.
    dialogue = output + 2 * requests[3] + 0.2 * sum(requests[:3])
    assert found.cost_usd(0.0) == pytest.approx(dialogue)
    # Call 3 uses zebra_one: half of all. A is new with call 2 and read by call 3.
    assert found.cost_usd(0.5) == pytest.approx(dialogue + 2.2 * a) and found.kept(0.5) == {2: 3}
    # Call 4 uses two, a quarter each: A is read once more; B is new with call 3 and read by call 4.
    assert found.cost_usd(0.75) == pytest.approx(dialogue + 2.4 * a) and found.kept(0.75) == {2: 4}
    assert found.cost_usd(1.0) == pytest.approx(dialogue + 2.4 * a + 2.2 * b) and found.kept(1.0) == {2: 4, 4: 4}
    assert [found.tokens(level) for level in (0.0, 0.5, 0.75, 1.0)] == [
        sum(requests), sum(requests) + 2 * a, sum(requests) + 3 * a, sum(requests) + 3 * a + 2 * b
    ]  # fmt: skip


def test_by_any_means_only_the_head_stays_and_a_reference_is_a_token_that_is_read() -> None:
    made, _, _, _, output = basis()
    found, head = made.frontiers["any"], made.counter.text("You read.")
    for level, references in ((0.0, 0), (0.5, 1), (0.75, 2), (1.0, 3)):
        assert found.tokens(level) == pytest.approx(4 * head + references, abs=1e-4)
        assert found.cost_usd(level) == pytest.approx(output + head * 2.6 + references * 0.2, abs=1e-4)


def test_where_a_cache_keeps_answers_only_the_first_request_is_new() -> None:
    made, _, _, requests, output = basis("deepseek", "deepseek-chat")
    assert made.frontiers["results"].cost_usd(0.0) == pytest.approx(output + 2 * requests[0] + 0.2 * sum(requests[1:]))


@pytest.mark.parametrize(("call", "dialogue", "result"), [(0, 4, 0), (1, 2, 4)])
def test_what_a_recording_shows_as_read_may_be_read_in_its_first_request(call: int, dialogue: int, result: int) -> None:
    # The cache held 4 tokens of the first request, or, where the model changes, of the second, which brings A and the
    # two tokens that ask for it.
    calls = [msgspec.structs.replace(one, model="b" if n == 1 else "", held=4 if n == call else None)
             for n, one in enumerate(MADE.calls)]  # fmt: skip
    other = Other("b", "b", CACHED)
    plain, warm = (
        basis_of(made, Provider(cache="anthropic", prices=CACHED, others=(other,)))
        for made in (MADE, msgspec.structs.replace(MADE, calls=tuple(calls)))
    )
    for level, less in ((0.0, dialogue), (0.5, dialogue + result)):
        before, after = (made.frontiers["results"].cost_usd(level) for made in (plain, warm))
        assert before is not None and after == pytest.approx(before - 1.8 * less)
    before, after = (scheduled(made.ledger, made.frontiers["results"])(0.0) for made in (plain, warm))
    assert before is not None and after is not None and before - after == pytest.approx(1.8 * (dialogue + result))


@pytest.mark.parametrize(("rules", "usd"), [
    ({"cache": "none", "prices": Prices(3.0, 15.0, 0.3, 2.0)}, (3e-6, 3e-6)),
    ({"cache": "anthropic", "prices": Prices(3.0, 15.0, 0.3, 3.75)}, (3e-6, 0.3e-6)),
    ({"cache": "anthropic", "prices": Prices(3.0, 15.0, 0.3, 2.0)}, (2e-6, 0.3e-6)),
    ({"cache": "openai", "prices": Prices(3.0, 15.0)}, (3e-6, 3e-6)),
    ({"cache": "minimax", "prices": Prices(3.0, 15.0, 0.3, 2.0)}, (3e-6, 0.3e-6)),
    # The lowest rate that a request of any length can have.
    ({"cache": "anthropic", "prices": Prices(((0, 3.0), (9, 6.0)), 15.0, ((0, 0.4), (9, 0.2)))}, (3e-6, 0.2e-6)),
    # Or at any hour.
    ({"cache": "anthropic", "prices": Prices(3.0, 15.0, 0.3, 3.75, hours=(
        Hours(time(1), time(2), Prices(2.0, 9.0, 0.1, 2.5)),))}, (2e-6, 0.1e-6)),
    # Or to any model of the session.
    ({"cache": "anthropic", "prices": Prices(3.0, 15.0, 0.3, 3.75),
      "others": (Other("b", "b", Prices(1.0, 5.0, 0.1, 1.25)),)}, (1e-6, 0.1e-6)),
    ({"cache": "anthropic", "prices": None}, (0.0, 0.0)),
])  # fmt: skip
def test_the_lowest_price_of_a_token_at_first_and_again(rules: dict[str, object], usd: tuple[float, float]) -> None:
    assert cheapest_usd(Provider(**rules)) == pytest.approx(usd)  # type: ignore[arg-type]


def test_a_schedule_clears_what_is_dead_where_that_costs_least() -> None:
    # A is needed by call 3, B by nobody: both are dead before call 4, which would have read all of request 3. Clearing
    # them makes it write the call that stands between them instead of reading it; keeping them costs far more.
    long = " a" * 1_500
    made = chat(TASK, ASK, ("tool_result", "zebra_one" + long), ASK, ("tool_result", long), ("assistant", "zebra_one"),
                ("user", "more"), ("assistant", "ok"))  # fmt: skip
    held = basis_of(made, Provider(cache="anthropic", prices=CACHED))
    a, asked, b = (held.counter.item(made.items[place]) for place in (2, 3, 4))
    results = held.frontiers["results"]
    usd = scheduled(held.ledger, results)
    dialogue = results.cost_usd(0.0)
    assert dialogue is not None
    assert usd(1.0) == pytest.approx(dialogue + 2.2 * a + 2 * b + 2.3 * asked)
    # What nobody needs leaves as soon as it was sent: nothing behind it has been cached by then.
    assert usd(0.0) == pytest.approx(dialogue + 2 * a + 2 * b)


def test_without_prices_a_schedule_has_none() -> None:
    held = basis_of(MADE, Provider(cache="anthropic"))
    assert held.frontiers["results"].cost_usd(1.0) is None
    assert scheduled(held.ledger, held.frontiers["results"])(1.0) is None
