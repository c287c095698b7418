"""One figure, one value: the terminal, the files, the sweep, the charts and the page say the same of a policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import ctxsim
from invented import write_logs

from ctxsim.answers.advice.pooled import Pooled
from ctxsim.report.page import page_data
from ctxsim.report.picture import picture
from ctxsim.report.tradeoff import points
from ctxsim.results import read_run

LABELS = ("mask:keep=1,batch=1", "mask:keep=3,batch=1")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[float, ...]]]:
    """By who says it, each policy's bill, its share of keep-all's, its tokens' share, what it keeps, of how many."""
    folder: Path = tmp_path_factory.mktemp("same")
    write_logs(folder / "logs")
    found = {}
    for command, label in (("bench", LABELS), ("sweep", ["mask:keep=1|3"])):
        asked = [part for one in label for part in ("--policy", one)]
        done = ctxsim(command, "logs", *asked, "--out", command, "--format", "json", cwd=folder)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        many = answer["verdict"]["take"]["transcripts"]
        found[command] = {
            row["policy"]: (row["usd"], row["usd_share"], row["tokens_share"], row["kept"], many)
            for row in answer["tables"][0]["rows"]
        }
    run = read_run(folder / "bench")
    pooled = Pooled(run)
    charted = {by: {point.policy: point for point in points(pooled, by)} for by in (True, False)}
    data = page_data(run)
    number = {policy["label"]: n for n, policy in enumerate(data["policies"])}
    drawn = {by: {point["policy"]: point for point in data["tradeoff"][by]["points"]} for by in ("dollars", "tokens")}
    rows = {row["policy"]: dict(zip((c["title"] for c in data["columns"]), row["cells"], strict=True))
            for row in data["rows"]}  # fmt: skip
    summary = run.summary.groupby("policy")
    for label in LABELS:
        n, kept = number[label], charted[True][label].kept
        assert kept is not None
        found.setdefault("chart", {})[label] = (
            picture(run).pooled.total(label, "usd"), charted[True][label].amount.value,
            charted[False][label].amount.value, kept.value, pooled.transcripts,
        )  # fmt: skip
        found.setdefault("page", {})[label] = (
            rows[n]["USD"][0], drawn["dollars"][n]["x"] / 100, drawn["tokens"][n]["x"] / 100,
            drawn["dollars"][n]["y"] / 100, int(data["about"].split()[0]),
        )  # fmt: skip
        found.setdefault("table of the page", {})[label] = (
            rows[n]["USD"][0], rows[n]["of keep-all"][0], rows[n]["tokens"][0], rows[n]["kept"][0], run.transcripts,
        )  # fmt: skip
        part = summary.get_group(label)
        known = part[part.cost_usd.notna()]
        whole = run.of("keep-all").set_index("transcript").cost_usd[known.transcript].sum()
        found.setdefault("summed by hand", {})[label] = (
            known.cost_usd.sum(), known.cost_usd.sum() / whole,
            part.tokens_sum.sum() / part.tokens_full_sum.sum(), part.survival.mean(), len(part),
        )  # fmt: skip
    return found


@pytest.mark.parametrize("label", LABELS)
def test_the_same_figure_everywhere(label: str, told: dict[str, dict[str, tuple[float, ...]]]) -> None:
    reference = told["summed by hand"][label]
    assert reference[4] == 6 and 0 < reference[1] < 2 and 0 < reference[2] < 1
    for who, figures in told.items():
        assert figures[label] == pytest.approx(reference, abs=1e-7), who
