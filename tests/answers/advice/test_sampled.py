"""Estimates from a sample: intervals worked by hand, and the folder's amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from made_runs import made_run

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.sampled import ends
from ctxsim.answers.advice.verdict import usd, verdict
from ctxsim.recorded.resampled import student
from ctxsim.results.run_info import Drawn, Sample


def test_an_interval_by_hand() -> None:
    # Shares of 5 of 10. Residuals 1, -1 and 1 of those drawn by chance, each from the ratio without it: / .8; what was
    # certain adds nothing. Weights (1 - p) x 3 / 2 = .75, so .75 x 1.25^2 x (3 - 1/3) = 3.125. Half a transcript of 1
    # (half of 2, as half of them was drawn) that saved a fifth: .2^2 / 2 = .02.
    wholes, taken = np.array([2.0, 4.0, 2.0, 2.0]), np.array([0.5, 1.0, 0.5, 0.5])
    parts = np.array([2.0, 1.0, 0.0, 2.0])
    off = student(2) * 3.145**0.5 / 10
    assert ends(parts, wholes, taken) == pytest.approx((0.5 - off, 0.5 + off))
    # With that half the share is 5.4 of 10.5. Wilson's ends: as far off the share as a yes or no varies there.
    for end in ends(parts, wholes, taken, within=True) or ():
        assert 0 < end < 1 and (end - 0.5) ** 2 == pytest.approx(off**2 / (5.4 / 10.5 * 5.1 / 10.5) * end * (1 - end))
    assert ends(parts, wholes, np.ones(4)) == (0.5, 0.5)
    assert ends(parts, wholes, np.array([0.5, 1.0, 1.0, 1.0])) is None
    assert ends(np.array([1.0, 4.0, 0.0, 0.0]), np.array([2.0, 4.0, 0.0, 0.0]), taken) is None


def test_a_policy_that_has_not_acted_in_the_sample_may_in_the_folder() -> None:
    wholes, taken = np.array([2.0, 4.0, 2.0, 2.0]), np.array([0.5, 1.0, 0.5, 0.5])
    off = student(2) * 0.02**0.5 / 10
    assert ends(wholes, wholes, taken) == pytest.approx((1 - off, 1 + off))
    # 1 less .1 of 10.5.
    low = 1 / (1 + off**2 / (0.1 / 10.5 * 10.4 / 10.5))
    assert ends(wholes, wholes, taken, within=True) == pytest.approx((low, 1.0)) and low < 1 - off
    # One that weighs nearly all says as much as one: no less than one degree of freedom.
    heavy = ends(np.array([90.0, 1.0]), np.array([90.0, 1.0]), np.array([0.5, 0.5]))
    assert heavy is not None and heavy[1] - 1 == pytest.approx(
        student(1) * (0.5 * (0.2 * 0.5 * 8101 / 91) ** 2) ** 0.5 / 91
    )


def sample(*drawn: float, usd: float | None = 50.0) -> Sample:
    return Sample(
        asked=len(drawn), seed=0, method="", by="tokens", transcripts=40, priced=40, calls=400, tokens=100_000, usd=usd,
        drawn=tuple(Drawn(f"t{n}", probability) for n, probability in enumerate(drawn)),
    )  # fmt: skip


def test_amounts_of_a_sample_are_those_of_its_folder(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"cost_usd": 1.0, "tokens_sum": 1_000}, {"cost_usd": 2.0, "tokens_sum": 3_000},
        {"cost_usd": 3.0, "tokens_sum": 1_000},
    ]  # fmt: skip
    saved = [
        {"cost_usd": 0.5, "tokens_sum": 500, "overflows": 1}, {"cost_usd": 1.0, "tokens_sum": 600},
        {"cost_usd": 3.0, "tokens_sum": 900},
    ]  # fmt: skip
    run = made_run(tmp_path, {"keep-all": rows, "mask": saved})
    drawn = sample(0.5, 0.25, 1.0)
    run.info = msgspec.structs.replace(run.info, sample=drawn)
    found = Pooled(run)
    # They stand for 2, 4 and 1 transcripts: dollars 2 + 8 + 3 and 1 + 4 + 3, tokens 15,000 and 4,300, calls 70.
    assert found.stands_for == 7 and not found.has_next and found.interval("keep-all", "usd") == (1.0, 1.0)
    assert found.value("mask", "usd") == pytest.approx(8 / 13)
    assert found.total("mask", "usd") == pytest.approx(50 * 8 / 13)
    assert found.total("keep-all", "usd") == pytest.approx(50) and found.total("mask", "calls") == pytest.approx(400)
    assert found.total("mask", "tokens") == pytest.approx(100_000 * 4_300 / 15_000)
    assert found.total("mask", "refused") == pytest.approx(2 * 400 / 70)
    # Dollars by probability, of 50; the third was certain.
    reach = ends(np.array([1.0, 4.0, 3.0]) * 50 / 13, np.array([2.0, 8.0, 3.0]) * 50 / 13, np.array([0.5, 0.25, 1.0]))
    assert reach is not None
    off = reach[1] - 8 / 13
    assert found.interval("mask", "usd") == pytest.approx((max(0.0, 8 / 13 - off), 8 / 13 + off))
    assert found.interval("mask", "usd", "keep-all") == pytest.approx((8 / 13 - 1 - off, 8 / 13 - 1 + off))
    assert found.draws("mask", "usd").mean() == pytest.approx(8 / 13, abs=0.1 * off)
    assert found.draws("mask", "usd").std() == pytest.approx(off / 1.96, rel=0.08)


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (0.00412, "0.0041"), (0.00999, "0.0100"), (0.01, "0.010"), (0.4782, "0.478"), (4.057, "4.06"),
    (0.9994, "0.999"), (1.0, "1.00"), (9.9994, "10.00"), (10.0, "10.00"),
    (99.994, "99.99"), (100.0, "100"), (100.4, "100"), (41_234.0, "41,234"),
])  # fmt: skip
def test_dollars_have_as_few_digits_as_say_something(value: float, text: str) -> None:
    assert usd(value) == text


@pytest.mark.parametrize(("drawn", "first"), [
    # Of one drawn by chance nobody knows how far the others differ; where all are certain nothing is off.
    ((0.5,), "Change nothing: no policy that keeps 90 % of what later calls used surely saves"),
    ((1.0, 0.5), "Change nothing: no policy that keeps 90 % of what later calls used surely saves"),
    ((1.0, 1.0), "Take mask: "),
])  # fmt: skip
def test_one_transcript_drawn_by_chance_makes_nothing_sure(
    drawn: tuple[float, ...], first: str, tmp_path: Path
) -> None:
    rows = [{"cost_usd": 2.0, "survival": 1.0}] * len(drawn)
    cheap = [{"cost_usd": 1.0, "survival": 1.0}] * len(drawn)
    lossy = [{"cost_usd": 0.1, "survival": 0.1}] * len(drawn)
    run = made_run(tmp_path, {"keep-all": rows, "mask": cheap, "summary": lossy})
    run.info = msgspec.structs.replace(run.info, sample=sample(*drawn))
    said = verdict(advise(run))
    assert said[0].startswith(first), said
    unsure = "One transcript drawn by chance tells no sampling error, so no saving is sure: draw more."
    assert (unsure in " ".join(said)) == (first[:4] != "Take") != ("Ranges show" in " ".join(said))
