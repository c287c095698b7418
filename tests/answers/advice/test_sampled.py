"""Estimates from a sample: Student's t by its tables, and an error worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from made_runs import made_run

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.sampled import probabilities, reach
from ctxsim.answers.advice.verdict import usd, verdict
from ctxsim.recorded.resampled import student
from ctxsim.results.run_info import Drawn, Sample


def test_an_error_by_hand() -> None:
    # Weights (1 - p) x 3 / 2: 3/4, 3/4 and 9/8; what was certain adds nothing. The weighted mean of 4, -2 and 1 is
    # (3 - 1.5 + 1.125) / 2.625 = 1. Squares: 9 x 3/4 + 9 x 3/4 + 0 = 13.5. Of a total of 50.
    residuals, taken = np.array([4.0, 99.0, -2.0, 1.0]), np.array([0.5, 1.0, 0.5, 0.25])
    assert reach(residuals, 50.0, taken) == pytest.approx(student(2) * 13.5**0.5 / 50)
    assert reach(residuals, 50.0, np.ones(4)) == 0.0
    assert reach(residuals, 50.0, np.array([0.5, 1.0, 1.0, 1.0])) is None


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
    assert probabilities(drawn, ["t2", "t0"]).tolist() == [1.0, 0.5]
    run.info = msgspec.structs.replace(run.info, sample=drawn)
    found = Pooled(run)
    # They stand for 2, 4 and 1 transcripts: dollars 2 + 8 + 3 and 1 + 4 + 3, tokens 15,000 and 4,300, calls 70.
    assert found.stands_for == 7 and not found.has_next and found.interval("keep-all", "usd") == (1.0, 1.0)
    assert found.value("mask", "usd") == pytest.approx(8 / 13)
    assert found.total("mask", "usd") == pytest.approx(50 * 8 / 13)
    assert found.total("keep-all", "usd") == pytest.approx(50) and found.total("mask", "calls") == pytest.approx(400)
    assert found.total("mask", "tokens") == pytest.approx(100_000 * 4_300 / 15_000)
    assert found.total("mask", "refused") == pytest.approx(2 * 400 / 70)
    # Residuals of dollars, each by its probability: 1 - 2 x 8/13 and so on; the third was certain.
    residuals = np.array([1 - 2 * 8 / 13, 4 - 8 * 8 / 13])
    off = reach(residuals * 50 / 13, 50.0, np.array([0.5, 0.25]))
    assert off is not None
    assert found.interval("mask", "usd") == pytest.approx((max(0.0, 8 / 13 - off), 8 / 13 + off))
    assert found.interval("mask", "usd", "keep-all") == pytest.approx((8 / 13 - 1 - off, 8 / 13 - 1 + off))
    assert found.draws("mask", "usd").mean() == pytest.approx(8 / 13, abs=0.1 * off)
    assert found.draws("mask", "usd").std() == pytest.approx(off / 1.96, rel=0.08)


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (0.00412, "0.0041"), (0.00999, "0.0100"), (0.01, "0.010"), (9.9994, "9.999"), (10.0, "10.00"),
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
