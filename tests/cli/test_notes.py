"""What `ctxsim.cli.output` says beside a run: of providers, recorders, recordings, keys, and what was left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import pandas
import pytest

from ctxsim.cli import output
from ctxsim.cli.loudness import taken
from ctxsim.readers.assembly.segments import UNLOGGED_CLEARING
from ctxsim.readers.source.source import SKIPPED
from ctxsim.results import InputInfo
from ctxsim.results.run_info import Recorder
from ctxsim.safety.redaction.transcripts import NOT_LOOKED_FOR
from ctxsim.simulator.provider import Provider


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")


def info(**fields: Any) -> Any:
    plain = {"providers": (), "recorders": (), "inputs": (), "secrets_kept": msgspec.UNSET, "setting": msgspec.UNSET}
    return SimpleNamespace(**(plain | fields))


def said(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    found = capsys.readouterr()
    return found.out.splitlines(), found.err.splitlines()


def source(notes: int = 0, error: str | None = None, failed: tuple[str, ...] = (), **more: Any) -> InputInfo:
    return InputInfo("a", "", 1, 1, tuple(f"note {n} of 1 line(s)" for n in range(notes)), error, failed, **more)


@pytest.mark.parametrize(("count", "more"), [(5, False), (6, True)])
def test_five_notes_are_told_and_how_to_see_more(count: int, more: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert output.tell_what_was_left_out(info(inputs=[source(count)])) == 0
    out, err = said(capsys)
    assert out == [] and err[0] == f"{count} notes on what was left out or mended:"
    assert err[1:6] == [f"  note {n} of 1 line" for n in range(5)]
    assert err[6:] == ["  ... -v shows all of them"] * more
    with click.Context(click.Command("bench")) as context:
        taken(context, ["-v"])
        output.tell_what_was_left_out(info(inputs=[source(count)]))
    assert len([line for line in said(capsys)[1] if "note" in line]) == count + 1


def test_what_is_damaged_is_told_first(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = f"a: line 2 {SKIPPED}: cut", f"b: 3 more lines {SKIPPED}"
    damaged = InputInfo("b", "", 1, 1, ("left out: 1 x mode", first, "left out: 2 x mode", second))
    output.tell_what_was_left_out(info(inputs=[source(4), damaged]))
    assert said(capsys)[1][1:6] == [
        f"  {one}" for one in (first, second, "note 0 of 1 line", "note 1 of 1 line", "note 2 of 1 line")
    ]


MORE = "ctxsim: ... and 1 more without rows; a bench's run.json names all in inputs[].failed"


@pytest.mark.parametrize(("count", "more"), [(5, []), (6, [MORE])])
def test_errors_are_all_told_and_failures_up_to_five(
    count: int, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [source(error="b is broken"), source(failed=tuple(f"x{n}" for n in range(count))), source(error="c too")]
    assert output.tell_what_was_left_out(info(inputs=inputs)) == count + 2
    assert said(capsys)[1] == [
        "ctxsim: b is broken", "ctxsim: c too", *(f"ctxsim: no rows of x{n}" for n in range(5)), *more
    ]  # fmt: skip
    assert output.tell_what_was_left_out(info(inputs=[source(1)])) == 0
    assert said(capsys)[1] == ["1 note on what was left out or mended:", "  note 0 of 1 line"]


def test_what_was_left_out_is_told_once_and_errors_end_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    for errors, status in ((["x", "y", "x"], 1), ([], 0)):
        with pytest.raises(SystemExit) as end:
            output.tell_and_exit(["a", "b", "a"], errors)
        assert end.value.code == status
    assert said(capsys)[1] == ["left out: a", "left out: b", "ctxsim: x", "ctxsim: y", "left out: a", "left out: b"]
    for count, more in ((5, []), (1_006, ["left out: 1,001 more; -v shows all"])):
        with pytest.raises(SystemExit):
            output.tell_and_exit(map(str, range(count)), [])
        assert said(capsys)[1] == [*(f"left out: {number}" for number in range(5)), *more]


def test_a_provider_is_told_for_each_of_six_models(capsys: pytest.CaptureFixture[str]) -> None:
    def of(*models: str) -> Any:
        return info(providers=[msgspec.to_builtins(Provider(model=model)) for model in models])

    one = Provider(model="a").describe()
    output.tell_providers(of("a", "b", "a", "a"))
    assert said(capsys)[0] == [
        f"Provider: {one} (and 2 more of this model, with another factor, window or price date)",
        f"Provider: {Provider(model='b').describe()}",
    ]
    output.tell_providers(of(*"abcdef"))
    assert len(said(capsys)[0]) == 6
    output.tell_providers(of(*"abcdefgh"))
    assert said(capsys)[0][6:] == ["  ... and 2 more models; all of them are in run.json under providers"]


def test_who_recorded_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell_recorders(info())
    assert said(capsys) == ([], [])
    output.tell_recorders(info(recorders=[Recorder("a", "codex", "0.1.0", "gpt-5")]))
    (line,) = said(capsys)[0]
    assert line.startswith("Recorded by Codex") and "gpt-5" not in line


ROWS: dict[str, list[Any]] = {
    "calls_recorded": [4, 6, 0], "tokens_full_recorded": [1_100, 1_100, 0], "tokens_recorded_sum": [1_000, 1_000, 0],
    "cost_recorded_usd": [1.0, None, 3.0], "cost_full_recorded_usd": [1.5, 2.0, 3.5],
    "size": ["fitted", "fitted", "counted"], "calls_unseen": [None, None, None], "unseen_median": [None] * 3,
    "unseen_p95": [None] * 3, "model": [None, "a", "a"],
}  # fmt: skip


def run(notes: tuple[str, ...] = (), asked: dict[str, object] | None = None, **columns: list[Any]) -> Any:
    rows = pandas.DataFrame(ROWS | columns)
    made = info(inputs=[InputInfo("a", "", 1, 1, notes)], setting={"overrides": asked} if asked else msgspec.UNSET)
    return SimpleNamespace(labels=["keep-all"], of=lambda label: rows, info=made)


SIZES = "Sizes of transcripts: 2 fitted, 1 counted"


def test_how_far_keep_all_is_from_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    # 2,200 of 2,000 tokens; 5 dollars of 4 where both are known.
    fitted = "Fitted to the recording: keep-all sends 2,200 tokens where 2,000 were recorded (+10.0%, 10 calls)"
    output.tell_recorded(run())
    assert said(capsys)[0] == [f"{fitted}; 5.00 USD where 2 of 3 transcripts state 4.00 (+25.0%). {SIZES}"]
    output.tell_recorded(run(cost_recorded_usd=[1.0, 2.0, 3.0]))
    assert said(capsys)[0] == [f"{fitted}; 7.00 USD where logs state 6.00 (+16.7%). {SIZES}"]
    # What the user asked for instead isn't what was recorded: only the first log has no model of its own.
    output.tell_recorded(run(asked={"prices": {"input": 1.0}, "model": None}))
    assert said(capsys)[0] == [f"{fitted}. {SIZES}"]
    output.tell_recorded(run(asked={"model": "b"}))
    assert said(capsys)[0][0].startswith("Fitted to the recording: keep-all sends 1,100 tokens where 1,000 were")
    for asked in ({"tokenizer": "o200k_base"}, {"model": "b"}):
        output.tell_recorded(run(asked=asked, model=["a", "a", "a"]))
        assert said(capsys)[0] == [f"No recorded usage of this model or tokenizer to compare with. {SIZES}"]
    output.tell_recorded(run(cost_recorded_usd=[None] * 3))
    assert said(capsys)[0] == [f"{fitted}. {SIZES}"]
    output.tell_recorded(run(cost_recorded_usd=[0.0] * 3), across=True)
    assert said(capsys)[0] == [
        "Where the agent compacted, keep-all still sends all history; `recorded` is what the agent sent, "
        "without its requests for summaries.",
        f"{fitted}. {SIZES}",
    ]
    cleared = f"a: {UNLOGGED_CLEARING} before call 3"
    unseen = {"calls_unseen": [10.0, None, 30.0], "unseen_median": [0.01, None, 0.03], "unseen_p95": [0.1, None, 0.2]}
    output.tell_recorded(run((cleared, "other", cleared), **unseen, cost_recorded_usd=[None] * 3))
    assert said(capsys)[0] == [
        "Recorded tokens fall 2 x without a logged reason; a new segment begins there.",
        "Error of sizes predicted without fitting: 2.0% (p95 15.0%) in the median session, over 40 later calls.",
        f"{fitted}. {SIZES}",
    ]


def test_without_recorded_usage_only_other_sizes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell_recorded(run(calls_recorded=[0] * 3))
    assert said(capsys)[0] == [f"No recorded usage to compare with. {SIZES}"]
    output.tell_recorded(run(calls_recorded=[0] * 3, size=["counted"] * 3))
    assert said(capsys) == ([], [])


@pytest.mark.parametrize(
    ("kept", "done"), [(msgspec.UNSET, "redacted in the results"), (True, "left in the results by --text kept")]
)
def test_likely_keys_are_counted_by_who_issued_them(kept: Any, done: str, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = [source(keys={"OpenAI": 1, "AWS": 2}), source(), source(keys={"OpenAI": 4})]
    output.tell_keys(info(inputs=inputs, secrets_kept=kept))
    assert said(capsys) == ([], [
        f"warning: 7 likely keys in the transcripts (2 AWS, 5 OpenAI): {done}; not looked for: {NOT_LOOKED_FOR}"
    ])  # fmt: skip
    output.tell_keys(info(inputs=[source(keys={"AWS": 1})]))
    assert said(capsys)[1][0].startswith("warning: 1 likely key in the transcripts (1 AWS): redacted")
    output.tell_keys(info(inputs=[source()]))
    assert said(capsys) == ([], [])


def test_files_and_results_are_told_where_people_read(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell_written([Path("a.csv"), Path("in/b.png")])
    output.tell_written([Path("a.csv")], "json")
    output.tell_results(SimpleNamespace(folder=Path("results/x")), [Path("results/x/a.png")])  # type: ignore[arg-type]
    output.tell("two\nlines")
    assert said(capsys) == (
        ["written: a.csv, in/b.png", "Results: results/x/ (a.png, calls.csv, summary.csv, ...)", ""],
        ["ctxsim: two lines"],
    )  # fmt: skip


def test_how_a_transcript_was_fitted_is_told_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-v"]):
        with click.Context(click.Command("bench")) as context:
            taken(context, arguments)
            output.tell_fit("a", "fitted", 1_200, 1.0)
            output.tell_fit("b", "prior", 0, 1.25)
    assert said(capsys)[1][:2] == [
        "a: fitted, 1,200 tokens that the log doesn't hold",
        "b: prior, 0 tokens that the log doesn't hold, 1.25 tokens for each counted one",
    ]


def test_tables_are_as_wide_as_is_said_or_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert output.console().width == 77
    monkeypatch.delenv("COLUMNS")
    assert output.console().width == 100
