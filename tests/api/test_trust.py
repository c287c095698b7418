"""How far figures hold, and what checks of one's own parts say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import ctxsim as command
from invented import write_logs
from made_runs import made_run
from samples import conversation

import ctxsim
from ctxsim.answers.validation.unseen import Predicted, Way
from ctxsim.api.trust import Checked, check
from ctxsim.counting.estimators import estimator_label
from ctxsim.errors import CtxsimError, InputError, UnknownName
from ctxsim.runs.check import Checked as ProcessChecked
from ctxsim.transcript import Compaction

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented logs."""
    return write_logs(tmp_path_factory.mktemp("api") / "logs", count=1)


def test_only_later_calls_are_held_out(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other projects predict of a session is no held-out call of its score."""
    ways: list[tuple[Way, int, int]] = [("later calls", 5, 110), ("later calls", 6, 130), ("another project", 0, 900)]
    made = [Predicted(way, "t", "codex-rollout", "gpt-5", at, tokens, 100) for way, at, tokens in ways]
    monkeypatch.setattr("ctxsim.api.trust.predicted", lambda stretches: made)
    scores = ctxsim.validate(logs).scores
    assert {one.format: (one.held_out_calls, one.held_out_median, one.held_out_p95) for one in scores} == {
        "claude-code": (0, None, None), "codex-rollout": (2, 0.1, 0.3),
    }  # fmt: skip


@pytest.mark.slow
def test_how_far_figures_hold(logs: Path, tmp_path: Path) -> None:
    """What `calibrate` and `compactions` print, as values."""
    fit = ctxsim.calibrate(logs, by="kind", risk=0.05)
    points, overall = fit.points(), fit.calibration.overall
    assert (len(points), sum(tokens for _, tokens, _ in points)) == (overall.texts, overall.tokens)
    file = fit.save(tmp_path / "own.json")
    assert (
        command("calibrate", str(logs), "--by", "kind", "--risk", "0.05", "--out", "other.json", cwd=tmp_path)[0] == 0
    )
    assert file.read_bytes() == (tmp_path / "other.json").read_bytes()
    recorded = ctxsim.calibrate(logs, against_usage=True)
    tokens = [tokens for _, tokens, _ in recorded.points()][:4]
    heads = recorded.calibration.heads
    # The ratio that is shown is rounded.
    assert heads and abs(tokens[0] - (1_000 - heads.median)) < 5
    assert [one - tokens[0] for one in tokens] == [0, 600, 900, 1_200], "1000, 1600, 1900, 2200, each without the head"
    assert ctxsim.compactions(logs).frame().empty
    made = conversation(*RESULTS)
    compacted = msgspec.structs.replace(made, compactions=(Compaction(4, made.calls[2].end, "auto", ("order A1000",)),))
    cut = ctxsim.compactions([compacted, *ctxsim.read(logs)], beside=False)
    assert cut.frame().transcript.tolist() == [compacted.name] and not cut.beside


@pytest.mark.slow
def test_parts_of_ones_own_are_checked(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('models = ["mine-*"]\n[cache]\nkind = "prefix"\nlifetime_s = 60\n')
    run = ctxsim.bench("documented-53k", ["mask"], out="run")
    for kind, target in (
        ("policy", "mask:keep=2"), ("estimator", "chars/3"), ("reader", "codex-rollout"), ("agent", "codex"),
        ("vendor", "anthropic"), ("run", run.folder),
    ):  # fmt: skip
        on = {"policy": ("documented-53k",), "reader": (logs / "rollout-1.jsonl",)}.get(kind, ())
        found = ctxsim.check(kind, target, *on)
        assert found.ok and found.violations == () and found.frame().empty, found
    gaps = ctxsim.check("vendor", "mine.toml")
    assert gaps.ok and gaps.frame().to_dict("list") == {
        "what": ["finding"] * 2, "line": ["cache names no source", "cache names no date"]
    }  # fmt: skip
    (tmp_path / "mine.py").write_text(
        "from ctxsim import Estimator\nclass Headless(Estimator):\n    name = 'headless'\n"
        "    def text(self, text): return len(text)\n    def head(self, head): return -1\n"
    )
    told = ctxsim.check("estimator", "mine.py:Headless").violations
    assert told == ("estimator mine.py:Headless: `head` returned -1; it must return a whole number of at least 0",)
    with pytest.raises(UnknownName, match="did you mean policy"):
        ctxsim.check("polcy", "mask")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean mask"):
        ctxsim.check("policy", "maks")


def test_a_vendor_of_ones_own_sets_the_rules(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefix"\nlifetime_s = 600\nstep = 64\n')
    found = ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")
    assert found.calls.tokens_cache_read[1:].gt(0).all() and (found.calls.tokens_cache_read % 64 == 0).all()
    assert "mine.toml" in found.provider.describe()
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefixes"\n')
    with pytest.raises(InputError, match=r"mine\.toml: is no vendor: Invalid enum value 'prefixes' - at "):
        ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")


def test_a_check_has_a_line_for_each_violation_and_finding() -> None:
    plain = Checked("mask", ())
    assert plain.ok and plain.lines() == [] and plain.append_only == "" and plain.frame().empty
    found = Checked("mask", ("a", "b"), ("c",))
    assert not found.ok and found.lines() == [("violation", "a"), ("violation", "b"), ("finding", "c")]
    assert found.frame().to_dict("list") == {"what": ["violation", "violation", "finding"], "line": ["a", "b", "c"]}
    assert Checked("mask", (), ("c",)).ok


def test_a_policy_is_checked_on_scenarios_and_called_by_its_whole_label(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def checked(label: str, scenarios: Any) -> Any:
        asked.append((label, scenarios))
        return ProcessChecked(["a"], ["b"], "", "append-only: no")

    monkeypatch.setattr("ctxsim.runs.check.check", checked)
    assert check("policy", "mask", "one-prompt") == Checked("mask:keep=10,batch=1", ("a",), ("b",), "append-only: no")
    check("policy", Path("mask"))
    assert asked == [("mask", ("one-prompt",)), ("mask", ())]


def test_an_estimator_is_checked_on_three_scenarios_or_those_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def violations(make: Any, transcripts: Any) -> list[str]:
        asked.append((estimator_label(make()), [one.name for one in transcripts]))
        return ["twice", "once", "twice"]

    monkeypatch.setattr("ctxsim.api.trust.violations", violations)
    assert check("estimator", "words") == Checked("words", ("twice", "once"))
    check("estimator", "words", "one-prompt")
    assert asked == [("words", ["documented-53k", "small-results", "text-only"]),
                     ("words", ["one-prompt"])]  # fmt: skip


def test_an_agent_of_a_file_is_tried_where_nothing_is_wrong_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    problems: list[str] = []
    monkeypatch.setattr("ctxsim.api.trust.agent_problems", lambda target: problems)
    monkeypatch.setattr("ctxsim.api.live.tried", lambda target, learn: ((f"{target} {learn}",), ("seen",)))
    assert check("agent", "codex") == Checked("codex", ())
    assert check("agent", "mine.toml") == Checked("mine.toml", ("mine.toml False",), ("seen",))
    assert check("agent", "mine.toml", learn=True).violations == ("mine.toml True",)
    problems.append("wrong")
    assert check("agent", "mine.toml") == Checked("mine.toml", ("wrong",)) and check("agent", "codex").violations


def test_a_run_is_made_again_only_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path / "run", {"keep-all": [{}]})
    monkeypatch.setattr("ctxsim.runs.rerun.made_again", lambda run, paths: [f"again {run.info.name} {paths}"])
    plain = check("run", run.folder)
    assert (plain.target, plain.findings) == (str(run.folder), run.caveats)
    again = check("run", run.folder, "logs", again=True)
    assert again.violations == (*plain.violations, "again made ('logs',)")


def test_transcripts_are_given_alone_together_or_by_path(logs: Path) -> None:
    made = conversation("one", "two")
    file = logs / "claude-1.jsonl"
    calls = len(ctxsim.validate(file).calls)
    assert calls == 6 and len(ctxsim.validate([str(file), made]).calls) == calls and ctxsim.validate(made).calls == []


def test_calls_are_scored_by_format_and_model_in_order(logs: Path) -> None:
    found = ctxsim.validate([logs / "rollout-1.jsonl", logs / "claude-1.jsonl"])
    assert [(one.format, one.model) for one in found.scores] == [
        ("claude-code", "claude-sonnet-4-5"), ("codex-rollout", "gpt-5")
    ]  # fmt: skip
    keys = [(one.format, one.model, one.transcript, one.call) for one in found.calls]
    assert keys == sorted(keys) and [one.calls for one in found.scores] == [6, 6]
    assert found.frame().model.tolist() == ["claude-sonnet-4-5", "gpt-5"]


def test_estimators_are_judged_at_a_threshold(logs: Path) -> None:
    found = ctxsim.estimates(logs / "claude-1.jsonl", ["chars"], threshold=1)
    assert [one.estimator for one in found.consequences] == ["chars"]
    usual = ctxsim.estimates(logs / "claude-1.jsonl", ["chars"])
    assert found.consequences != usual.consequences and found.errors == usual.errors
    assert set(found.frame().estimator) == {"chars"}
    with pytest.raises(CtxsimError, match="no call in these transcripts"):
        ctxsim.estimates(msgspec.structs.replace(conversation("one"), calls=(), items=()), ["chars"])
    silent = logs / "silent.json"
    silent.write_text('{"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]}')
    with pytest.raises(CtxsimError, match="no call in these transcripts has any input"):
        ctxsim.estimates(silent, ["chars"])


def test_a_fit_has_a_row_for_all_and_for_each_group(logs: Path) -> None:
    fit = ctxsim.calibrate(logs)
    assert fit.calibration.by == "tool" and fit.calibration.risk is None and fit.calibration.heads is None
    frame = fit.frame()
    assert frame.chars_per_token[0] == fit.calibration.overall.chars_per_token
    assert frame.group.tolist() == ["all", *fit.calibration.groups]
    assert frame.tokens.tolist() == [fit.calibration.overall.tokens, *(
        one.tokens for one in fit.calibration.groups.values()
    )]  # fmt: skip
