"""Tables of losses, ranks that don't rank noise, and advice."""

from __future__ import annotations

import pandas
import pytest
from samples import ASK, TASK, chat

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.intervals import Interval, bootstrap_mean, rank_ranges
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.report.cells import policy_sheet
from ctxsim.report.sheet import text_rows
from ctxsim.results import Run, read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.transcript import Transcript


def survival_interval(part: pandas.DataFrame) -> Interval | None:
    """One policy's mean survival and its interval, given its summary rows."""
    known = part[part.survival.notna()]
    return bootstrap_mean(known.survival.to_numpy(), known.root.to_numpy())


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six conversations; a and b lose the same by turns, c loses all."""
    folder = tmp_path_factory.mktemp("runs")
    with (folder / "many.jsonl").open("wb") as file:
        for n in range(6):
            text = f"zebra_{n}00 " + "word " * 200 + f"zebra_{n}01 " + "word " * 200
            chatted = chat(
                TASK, ASK, ("tool_result", text), ASK, ("tool_result", "ok"), ("assistant", f"zebra_{n}00 zebra_{n}01")
            )
            named = Transcript(f"t{n}", chatted.head, chatted.items, chatted.calls)
            file.writelines(line + b"\n" for line in lines(named))
    policies = ("keep-all", "max-result-chars:chars=500", "truncate-after-use:retain=500", "mask:keep=1")
    conduct(Setting("many", "many", policies), folder / "out", paths=[str(folder / "many.jsonl")])
    return read_run(folder / "out")


def test_ranks_say_what_cannot_be_told_apart(ranked: Run) -> None:
    cut, late, masked = ranked.info.policies[1:]
    # Both cuts keep the first name only, in every transcript; mask keeps nothing.
    parts = {label: ranked.of(label) for label in (cut, late, masked)}
    assert [survival_interval(part) for part in parts.values()] == [(0.5, 0.5, 0.5), (0.5, 0.5, 0.5), (0, 0, 0)]
    assert rank_ranges(parts) == {cut: (1, 2), late: (1, 2), masked: (3, 3)}
    table = policy_sheet(ranked, Pooled(ranked), ranked.labels, ["rank"])
    rows = {row["policy"]: row for row in text_rows(table)}
    assert [rows[label]["rank"] for label in (cut, late, masked)] == ["1-2", "1-2", "3"]
    assert rows["keep-all (bound)"]["rank"] == "-"


def test_chance_is_the_share_that_the_transcript_before_would_have_held(ranked: Run) -> None:
    found = ranked.summary.drop_duplicates("transcript").chance_rate
    # The first has none before it; no two share a name.
    assert pandas.isna(found.iloc[0]) and set(found.iloc[1:]) == {0.0}


def test_advice_takes_the_cheapest_of_what_keeps_enough(ranked: Run) -> None:
    cut, late, masked = ranked.info.policies[1:]
    found = Pooled(ranked)
    assert [found.value(label, "kept") for label in (cut, late, masked)] == [0.5, 0.5, 0.0]
    # Cut on arrival is sent short from the first request on, so it is cheaper than cutting after use.
    assert (found.value(cut, "tokens") or 1) < (found.value(late, "tokens") or 0)
    # keep-all keeps all, so what loses half is no answer: nothing is worth it.
    advice = advise(ranked)
    assert advice is not None and advice.take.policy == "keep-all" and advice.wins == {"keep-all": 1.0}
    assert advice.cheaper is not None and advice.cheaper.policy == cut
