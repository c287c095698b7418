"""`ctxsim.bench`, `sweep` and `compare`: runs as values."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from invented import write_logs
from made_runs import made_run

import ctxsim
from ctxsim.answers.advice.figures import Share
from ctxsim.api import runs as room
from ctxsim.api.runs import run_name, settings_of
from ctxsim.errors import CtxsimError, LabelError, UnknownName
from ctxsim.results import InputInfo
from ctxsim.runs.presets import DEFAULT_POLICIES
from ctxsim.runs.task import Setting, Wanted
from ctxsim.synthesis import load_scenario


def test_a_run_without_a_folder_goes_when_it_is_dropped() -> None:
    run = ctxsim.bench("documented-53k", ["keep-all"])
    folder = run.folder
    assert (folder / "run.json").is_file()
    del run
    gc.collect()
    assert not folder.exists()


def test_a_sweep_runs_every_setting_and_the_bounds(tmp_path: Path) -> None:
    run = ctxsim.sweep("documented-53k", ["token-budget:budget=30000..50000@3", "mask:keep=1|3"], out=tmp_path / "run")
    assert [one.partition(":")[0] for one in run.labels] == [
        "keep-all", "drop-all", "oracle-lossless", *["token-budget"] * 3, *["mask"] * 2
    ]  # fmt: skip
    assert run.frame().equals(run.summary) and len(run.frame()) == 8
    with pytest.raises(LabelError):
        ctxsim.sweep("documented-53k", "token-budget:budget=1..2@x")


def test_rows_of_a_policy_are_found_by_any_label_that_opens_it() -> None:
    run = ctxsim.bench("documented-53k", ["keep-all", "mask:keep=3"])
    whole = run.table("calls", policy=["mask:keep=3,batch=1"])
    assert len(whole) == 7 and run.table("calls", policy="mask:keep=3").equals(whole)
    assert run.table("calls", policy=whole.policy).equals(whole) and run.table("calls", policy=[]).empty
    with pytest.raises(UnknownName, match="has no policy 'mask:keep=4,batch=1'; did you mean mask:keep=3,batch=1"):
        run.table("calls", policy=["mask:keep=4"])


@pytest.mark.parametrize(
    ("path", "name"),
    [("logs", "logs"), ("a/b.jsonl", "b"), ("x.json.gz", "x"), ("a.b.jsonl.zst", "a.b"), ("-", "standard-input"),
     ("reader:mine.py:logs/x.json", "x"), ("/", "run"), (".json", ".json")],
)  # fmt: skip
def test_a_run_is_called_like_its_recordings(path: str, name: str) -> None:
    assert run_name(path) == name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sample": 0}, "sample=0: must be a whole number of at least 1 or None"),
        ({"refetch": -0.1}, "refetch=-0.1: must be a number from 0 to 1 or None"),
        ({"refetch": 1.1}, "refetch=1.1: must be a number from 0 to 1 or None"),
        ({"draws": 0, "refetch": 0.5}, "draws=0: must be a whole number of at least 1 or None"),
        ({"draws": 1}, "1 draws: there must be a --refetch rate above 0 and below 1"),
        ({"draws": 1, "refetch": 0}, "1 draws: there must"), ({"draws": 1, "refetch": 1}, "1 draws: there must"),
    ],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(CtxsimError, match=said):
        ctxsim.bench("one-prompt", **options)


@pytest.fixture
def conducted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of a run that then has no call."""
    heard: list[Any] = []

    def conduct(*given: Any, **named: Any) -> Any:
        heard.append((given, named))
        Path(given[1]).mkdir(exist_ok=True)
        return SimpleNamespace(inputs=())

    monkeypatch.setattr(room, "conduct", conduct)
    return heard


def setting_of(heard: list[Any]) -> Setting:
    (setting, *_), _ = heard.pop()
    assert isinstance(setting, Setting)
    return setting


def test_what_is_benched_is_said_in_full(conducted: list[Any], tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 1)
    with pytest.raises(CtxsimError, match=f"{logs}: no call to replay"):
        ctxsim.bench(logs, ["mask"], out=tmp_path / "out")
    (_, out, made, paths, jobs), named = conducted[0]
    assert (out, made, paths, jobs) == (tmp_path / "out", None, (str(logs),), 1) and not out.exists()
    watch = named.pop("watch")
    assert named == {"resume": False, "cluster": None, "replace": False} and watch == ctxsim.api.runs.Watch(*watch)
    assert setting_of(conducted) == Setting("logs", f"Recorded transcripts in {logs}", ("mask",))
    (tmp_path / "held").mkdir()
    with pytest.raises(CtxsimError, match="one-prompt: no call to replay"):
        ctxsim.bench("one-prompt", "keep-all", out=tmp_path / "held", jobs=3, resume=True, overwrite=True, across=True,
                     cluster="x:1")  # fmt: skip
    (_, out, made, paths, jobs), named = conducted[0]
    assert (made.name, paths, jobs) == ("one-prompt", (), 3) and out.exists(), "what was there stays"
    assert {name: named[name] for name in ("resume", "cluster", "replace")} == {
        "resume": True, "cluster": "x:1", "replace": True
    }  # fmt: skip
    assert setting_of(conducted) == Setting("one-prompt", made.title, ("keep-all",), across=True)


def test_options_are_left_out_where_they_are_usual(conducted: list[Any]) -> None:
    def asked(**options: Any) -> Setting:
        with pytest.raises(CtxsimError, match="no call"):
            ctxsim.bench("one-prompt", "mask", **options)
        return setting_of(conducted)

    plain = asked()
    assert (plain.text, plain.keep_secrets, plain.sample, plain.refetch, plain.draws, plain.brackets) == (
        True, *[msgspec.UNSET] * 5
    )  # fmt: skip
    kept = asked(text="kept", sample=5, refetch=0.5, draws=2, brackets=False, estimator="words", window=9, head=7)
    assert (kept.text, kept.keep_secrets, kept.sample, kept.refetch, kept.draws, kept.brackets) == (
        True, True, Wanted(5, 0), 0.5, 2, False
    )  # fmt: skip
    assert (kept.estimator, kept.overrides, kept.head) == ("words", {"window": 9}, 7)
    assert not asked(text="none").text and asked(sample=1, seed=4).sample == Wanted(1, 4)
    ends = asked(refetch=0), asked(refetch=1)
    assert [(one.refetch, type(one.refetch)) for one in ends] == [(0.0, float), (1.0, float)]


def test_which_policies_run_unless_they_are_named(conducted: list[Any], tmp_path: Path) -> None:
    def ran(what: Any, policies: Any = None, **options: Any) -> tuple[str, ...]:
        with pytest.raises(CtxsimError, match="no call"):
            ctxsim.bench(what, policies, **options)
        return setting_of(conducted).policies

    assert ran("one-prompt") == load_scenario("one-prompt").policies == ran("one-prompt", across=True)
    logs = write_logs(tmp_path / "logs", 1)
    usual = ran(logs / "chat-1.json")
    assert usual == DEFAULT_POLICIES
    assert ran(logs / "chat-1.json", across=True) == ("recorded", *DEFAULT_POLICIES)
    assert ran(logs / "chat-1.json", "papers", across=True)[0] == "recorded"
    assert ran(logs / "chat-1.json", "mask", across=True) == ("mask",)
    codex = ran(logs / "rollout-1.jsonl")
    assert codex[: len(usual)] == usual and codex[len(usual)] == "as-set" and len(codex) > len(usual) + 1
    (tmp_path / "config.toml").write_text("model_auto_compact_token_limit = 90000\n")
    assert ran(logs, "as-set", settings=tmp_path / "config.toml")[0].startswith("as-set:")
    own = ran(logs / "rollout-1.jsonl", settings=tmp_path / "config.toml")
    assert len(own) == len(codex) and own[len(usual)].startswith("as-set:")


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([], ""), ([InputInfo("a", "", 0, 0, ("left out: x",))], "left out: x"),
        ([InputInfo("a", "", 0, 0, ("left out: x", "no response"))], "no response"),
        ([InputInfo(name, "", 0, 0, ("left out: y",)) for name in "ab"],
         "left out: y; and 1 more that can't be replayed"),
        ([InputInfo("a", "", 0, 0, ("left out: x",)), InputInfo("b", "", 0, 0, (), "b is broken")], "b is broken"),
        ([InputInfo(name, "", 0, 0, (), f"{name} is broken") for name in "abc"],
         "a is broken; and 2 more that can't be replayed"),
    ],
)  # fmt: skip
def test_why_nothing_was_replayed_is_the_first_error(inputs: list[InputInfo], said: str) -> None:
    assert room._reasons(inputs) == said


def test_estimates_of_a_sample_are_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {("a", "usd"): Share(0.5, 0.25, 0.75), ("a", "tokens"): Share(1 / 3, 0.1, 0.9), ("b", "usd"): None,
              ("b", "tokens"): Share(1.0, 1.0, 1.0)}  # fmt: skip
    totals = {"usd_all": 12.5, "usd": 6.25, "tokens_all": 9_000.0, "tokens": None}
    found = SimpleNamespace(
        all={one: SimpleNamespace(share=lambda measure, one=one: shares[one, measure]) for one in "ab"},
        total=lambda label, measure: totals[measure],
    )  # fmt: skip
    monkeypatch.setattr(room, "figures_of", lambda run: found)
    room.write_estimates(SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type]
    assert (tmp_path / "estimates.csv").read_text().splitlines() == [
        "policy,measure,keep_all,estimated,share,low_of_this_folder,high_of_this_folder",
        '"a",usd,12.5,6.25,0.5,0.25,0.75', '"a",tokens,9000,,0.3333333333,0.1,0.9', '"b",tokens,9000,,1,1,1',
    ]  # fmt: skip


def test_grids_are_one_or_several() -> None:
    assert settings_of("mask:keep=1|2") == ["mask:keep=1,batch=1", "mask:keep=2,batch=1"]
    assert settings_of(["mask:keep=1", "keep-all"]) == ["mask:keep=1,batch=1", "keep-all"]


def test_a_comparison_is_judged_by_what_really_changed(tmp_path: Path) -> None:
    rows = {
        "keep-all": [{"tokens_sum": 1_000, "survival": 1.0}] * 8,
        "mask": [{"tokens_sum": 500, "survival": 0.25}, {"tokens_sum": 500, "survival": 0.75}] * 4,
    }
    more = {
        "keep-all": [{"tokens_sum": 1_000, "survival": 1.0}] * 8,
        "fifo": [{"tokens_sum": 600, "survival": 0.6}] * 8,
    }
    first, second = made_run(tmp_path / "a", rows), made_run(tmp_path / "b", more)
    found = ctxsim.compare(first, policies=("keep-all", "mask"), fail_if=["tokens_sum < -49%", "survival < -0.51"])
    assert [(one.column, one.before, one.after, one.difference) for one in found.broken] == [
        ("tokens_sum", 1_000, 500, -500)
    ]  # fmt: skip
    assert found.not_compared == () and list(found) == list(found.changes)
    rows_of = {row["column"]: row for row in found.frame().to_dict("records")}
    assert rows_of["survival"] == rows_of["survival"] | {
        "policy": found.changes[0].policy, "before": 1.0, "after": 0.5, "difference": -0.5, "transcripts": 8
    }  # fmt: skip
    assert rows_of["survival"]["low"] < -0.5 < rows_of["survival"]["high"]
    two = ctxsim.compare(first.folder, second, ("mask", "fifo"))
    assert {one.column: one.difference for one in two}["tokens_sum"] == 100
    # Each has one policy beside the bounds: these are a pair.
    pairs = ctxsim.compare(first, second)
    assert len({one.policy for one in pairs}) == 2 and pairs.not_compared == ()
    third = made_run(tmp_path / "c", more | {"pi": [{"tokens_sum": 700}] * 8})
    left = ctxsim.compare(first, third)
    assert {one.policy for one in left} == {"keep-all"} and len(left.not_compared) == 2
    with pytest.raises(
        CtxsimError, match=r"nothing for --fail-if to judge: only in A: mask; only in B: fifo, pi; name"
    ):
        ctxsim.compare(first, third, fail_if=["tokens_sum > 1%"])
    with pytest.raises(CtxsimError, match="no transcript has cost_usd in both runs"):
        ctxsim.compare(first, policies=("keep-all", "mask"), fail_if=["cost_usd > 1%", "tokens_sum > 1%"])
    with pytest.raises(CtxsimError, match="needs two runs, or one and two policies"):
        ctxsim.compare(first)


def test_a_run_says_how_much_it_holds(tmp_path: Path) -> None:
    found = ctxsim.read_run(made_run(tmp_path / "a", {"keep-all": [{}, {}], "mask": [{}, {}]}).folder)
    assert repr(found) == "<run made: 2 transcripts, 2 policies>"
    assert "<td>mask</td>" in found._repr_html_() and "NaN" not in found._repr_html_()
    assert "<th>0</th>" not in found._repr_html_(), "rows have no numbers"


def test_a_run_is_not_written_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(CtxsimError, match=r"out: .*; a run is written into a folder; choose another"):
            ctxsim.bench("one-prompt", ["keep-all"], out=tmp_path / "out", overwrite=overwrite)
    assert (tmp_path / "out").read_text() == "mine"
