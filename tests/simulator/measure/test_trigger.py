"""One definition of false-safe and of how late a threshold is passed."""

from __future__ import annotations

from ctxsim.simulator.measure.columns import displacement, first_over, misled


def test_a_limit_itself_is_safe() -> None:
    assert misled(100, 101, 100) == "false-safe"
    assert misled(101, 100, 100) == "false-alarm"
    assert [misled(*pair, 100) for pair in ((100, 100), (90, 10), (101, 200))] == ["", "", ""]


def test_late_early_and_never() -> None:
    tokens = [10, 30, 60, 100]
    # Over 50: due at the third request; who believes half of it fires never, who believes double one call early.
    due = first_over(tokens, 50)
    assert due == 2 and first_over([value / 2 for value in tokens], 50) is None
    assert displacement(first_over([2 * value for value in tokens], 50), due, tokens) == (-1, -30)
    assert displacement(3, due, tokens) == (1, 40)
    assert displacement(None, due, tokens) is None and displacement(1, None, tokens) is None
