"""What a run says of itself, and of a transcript beside the others."""

from __future__ import annotations

import errno
import gc
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench_runs import write
from samples import ASK, TASK, chat, conversation, spec_of

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.errors import ContractError, CtxsimError, InputError, Stopped
from ctxsim.policies import Policy, open_policies, open_policy
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo, Tables, read_run
from ctxsim.results.columns import SummaryRow
from ctxsim.results.run_info import __version__
from ctxsim.results.writer import RunWriter
from ctxsim.runs.conduct import (
    LONG_LABEL,
    Watch,
    _kept,
    _writing_told,
    conduct,
    said_of,
)
from ctxsim.runs.gathered import Gathered
from ctxsim.runs.rows import Done, Rows
from ctxsim.runs.task import Setting, Wanted
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.finding import DETECTORS
from ctxsim.synthesis import load_scenario


class Written(RunWriter):
    """A writer that keeps the summaries' rows and writes nothing."""

    def __init__(self) -> None:
        self.rows: list[SummaryRow] = []

    def write(self, tables: Tables, summary: Sequence[SummaryRow]) -> None:
        self.rows += summary


def test_a_run_says_its_policies_providers_and_tokenizers() -> None:
    long = "token-approx-budget:budget=9000,estimator=chars:ratio=3.5"
    specs = open_policies(("keep-all", "mask:keep=1", "drop-all", long, "token-budget:budget=9000"))
    providers = [Provider(), Provider(tokenizer="cl100k_base"), Provider(window=9)]
    found = said_of(specs, iter(providers), ("observed:x",))
    whole = open_policy(long)
    assert found == {
        "ctxsim": __version__,
        "tokenizers": {name: open_tokenizer(name).vocabulary_sha256 for name in ("o200k_base", "cl100k_base")},
        "policies": ("keep-all", "mask:keep=1,batch=1", "drop-all", whole.label, "token-budget:budget=9000,retain=500",
                     "observed:x"),
        "shown": {whole.label: whole.short},
        "bounds": ("keep-all", "drop-all"),
        "limits": {spec.label: spec.limits() for spec in specs if spec.limits()},
        "providers": tuple(map(msgspec.to_builtins, providers)),
        "detectors": DETECTORS,
    }  # fmt: skip
    assert len(whole.label) > LONG_LABEL == 44 and found["limits"]["token-budget:budget=9000,retain=500"]


def test_what_was_asked_is_kept_but_for_names_without_text() -> None:
    setting = Setting("mine", "Mine", ("keep-all",), sample=Wanted(3, 1))
    assert _kept(setting, ["logs"]) == msgspec.structs.replace(setting, paths=("logs",))
    quiet = msgspec.structs.replace(setting, text=False)
    assert _kept(quiet, ["logs"]) == msgspec.structs.replace(quiet, name="recorded", title="Recorded transcripts")
    assert _kept(setting, []) == setting


def test_failures_of_sizing_stand_beside_those_of_the_run() -> None:
    info = InputInfo("a", "h", 1, 1, failed=("b",))

    def of_sample(info: InputInfo, before: InputInfo) -> InputInfo:
        plan: Any = "a plan"
        found = Gathered(["kept name"], True, Written(), plan, [Done(before)])
        assert found.source(0, info).name == "kept name"
        return found.inputs[0]

    assert of_sample(info, InputInfo("a", "h", 1, 1, failed=("a", "b"))).failures == ("a", "b")
    assert of_sample(InputInfo("a", "h", 1, 1), InputInfo("a", "h", 1, 1)).failed is msgspec.UNSET
    with pytest.raises(InputError, match="a: changed while the sample was drawn"):
        of_sample(info, InputInfo("a", "other", 1, 1))


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "what is finished is kept, make room"), (errno.EDQUOT, "what is finished is kept"),
     (errno.EIO, "what is finished is kept"), (errno.ENOTDIR, "a run is written into a folder; choose another with")],
)  # fmt: skip
def test_where_writing_failed_is_told_with_what_to_do(number: int, said: str) -> None:
    with pytest.raises(CtxsimError, match=f"^out: .*; {said}"), _writing_told(Path("out")):
        raise OSError(number, "no")


def rows(name: str, text: str, parent: str | None = None, used: bool = True, **provider: Any) -> Rows:
    """Of a transcript whose last call uses what its result says."""
    words = f"{text} " * 3
    made = chat(TASK, ASK, ("tool_result", words), ASK, ("tool_result", "x"), ("assistant", text if used else "done"))
    one = AsSent(msgspec.structs.replace(made, name=name, parent=parent), Provider(**provider))
    return rows_of(one, [open_policy("keep-all")], [])


def test_a_transcript_has_its_root_its_provider_and_the_share_of_chance() -> None:
    written = Written()
    gathered = Gathered(["x"], True, written, None, ())
    for one in (
        rows("a", "zebra_1001"), rows("a/1", "zebra_1001", "a"), rows("a/1/1", "zebra_2002", "a/1", window=9_000),
        rows("b", "zebra_2002"), rows("c", "zebra_3003"), rows("d", "zebra_3003", used=False), rows("e", "zebra_3003"),
    ):  # fmt: skip
        gathered.transcript(0, one)
    told = [(row.transcript, row.root, row.provider, row.chance_rate) for row in written.rows]
    # Of b the one before holds what it needed, of c none; d needed nothing, and holds what e needs.
    assert told == [
        ("a", "a", 0, None), ("a/1", "a", 0, None), ("a/1/1", "a", 1, None), ("b", "b", 0, 1.0), ("c", "c", 0, 0.0),
        ("d", "d", 0, None), ("e", "e", 0, 1.0),
    ]  # fmt: skip
    assert [one.window for one in gathered.providers] == [200_000, 9_000] and gathered.replayed == 7
    with pytest.raises(InputError, match="x: c is in an earlier path too"):
        gathered.transcript(0, rows("c", "zebra_3003"))


def test_a_parent_is_known_by_its_id_wherever_its_file_lies() -> None:
    written, first = Written(), "019ed50c-0000-7000-8000-000000000001"
    gathered = Gathered(["x"], True, written, None, ())
    for one in (rows(f"old/rollout-{first}.jsonl", "a"), rows("new/b", "a", first), rows("new/c", "a", "none")):
        gathered.transcript(0, one)
    assert [row.root for row in written.rows] == [f"old/rollout-{first}.jsonl"] * 2 + ["none"]


def test_a_share_of_chance_has_six_digits() -> None:
    written = Written()
    gathered = Gathered(["x"], True, written, None, ())
    gathered.transcript(0, rows("a", "zebra_1001"))
    gathered.transcript(0, rows("b", "zebra_1001 zebra_2002 zebra_3003"))
    assert written.rows[-1].chance_rate == 0.333333


def test_a_label_is_shortened_from_45_characters_on(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = open_policies(("mask:keep=1", "mask:keep=10"))
    monkeypatch.setattr("ctxsim.runs.conduct.LONG_LABEL", len("mask:keep=1,batch=1"))
    assert said_of(specs, [])["shown"] == {"mask:keep=10,batch=1": specs[-1].short}


def test_standard_input_is_read_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("ctxsim.runs.conduct.shares")
    stream = Source("-", None, b"\n".join(ctxsim_jsonl.lines(conversation("one"))))
    assert conduct(Setting("a", "a", ("keep-all",)), tmp_path / "out", given=[stream]).complete
    with pytest.raises(NameError):
        conduct(Setting("a", "a", ("keep-all",)), tmp_path / "out", load_scenario("canaries"))


def test_a_run_of_nothing_but_failures_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "logs", conversation("one"), "a")

    class FailsHere(Policy):
        """Never answers."""

        def before_call(self, view: Any) -> Any:
            raise ValueError("no")

    for room in ("conduct", "task", "identity"):
        monkeypatch.setattr(f"ctxsim.runs.{room}.specs_of", lambda setting: [spec_of(FailsHere)])
    with pytest.raises(
        ContractError, match="no policy could be replayed; the first: a: call 1: fails-here: before_call"
    ):
        conduct(Setting("a", "a", ("fails-here",)), tmp_path / "out", paths=[str(tmp_path / "logs")])
    assert not (tmp_path / "out").exists()


def test_a_run_that_is_stopped_before_anything_is_done_is_none(tmp_path: Path) -> None:
    write(tmp_path / "logs", conversation("one"), "a")
    with pytest.raises(Stopped):
        conduct(Setting("a", "a", ("keep-all",)), tmp_path / "out", paths=[str(tmp_path / "logs")],
                watch=Watch(stopped=lambda: True))  # fmt: skip


def test_a_run_without_text_has_no_names(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / "logs", conversation("one"), name)
    heard: list[tuple[str, int]] = []
    info = conduct(
        Setting("mine", "Mine", ("keep-all",), text=False), tmp_path / "out", paths=[str(tmp_path / "logs")],
        watch=Watch(lambda one, total: heard.append((Path(one.name).name, total))),
    )  # fmt: skip
    assert (info.name, info.title, info.complete) == ("recorded", "Recorded transcripts", True)
    assert [one.name for one in info.inputs] == ["source 1", "source 2"] and heard == [("a.jsonl", 2), ("b.jsonl", 2)]
    run = read_run(tmp_path / "out")
    assert run.summary.transcript.tolist() == ["transcript 1", "transcript 2"]
    plain = conduct(Setting("mine", "Mine", ("keep-all",)), tmp_path / "plain", paths=[str(tmp_path / "logs")])
    assert (plain.name, plain.title, plain.scenario, plain.sample) == ("mine", "Mine", None, msgspec.UNSET)
    made = conduct(Setting("s", "S", ("keep-all",), text=False), tmp_path / "made", load_scenario("documented-53k"))
    assert (made.name, made.title) == ("s", "S") and made.scenario is not None


def test_two_transcripts_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(ctxsim_jsonl.lines(conversation(name))))
    with pytest.raises(InputError, match=r"b\.jsonl: sample is in an earlier path too: leave one of the two out"):
        conduct(Setting("s", "S", ("keep-all",)), tmp_path / "out", paths=[str(tmp_path)])


def test_a_bench_holds_one_transcript_at_a_time(tmp_path: Path) -> None:
    """Replaying 20 transcripts of 200 kB holds no more than replaying 4, though nobody collects garbage meanwhile."""
    text = "word " * 40_000

    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        with file.open("w") as stream:
            for number in range(count):
                roles = ("system", "user", "assistant")
                messages = [{"role": role, "content": f"{number} {text if role == 'user' else role}"} for role in roles]
                stream.write(json.dumps({"messages": messages}) + "\n")
        setting = Setting("x", "x", ("keep-all", "mask"))
        gc.disable()
        tracemalloc.start()
        try:
            conduct(setting, tmp_path / f"out{count}", paths=[str(file)])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            gc.enable()

    peak(1)  # what is loaded at the first time stays
    assert peak(20) < peak(4) + (2 << 20)
