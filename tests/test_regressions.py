"""Defects that were found by attack, each held by the smallest case that showed it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from samples import conversation, run
from test_cli import ctxsim

from ctxsim.bench import bench
from ctxsim.bounds.programme import Goal, Keeping, Programme
from ctxsim.economics import payback_calls
from ctxsim.errors import ContractError, CtxsimError, InputError, LabelError
from ctxsim.estimators import open_estimator
from ctxsim.measure import Measured
from ctxsim.policies import Policy, Spec, Stop, open_policy
from ctxsim.provider import Provider, RateLimit
from ctxsim.provider.models import find_model, read_overrides
from ctxsim.provider.prices import Prices
from ctxsim.provider.rate_limit import Bucket, smallest_quota
from ctxsim.readers import read, read_source, sources
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.ctxsim_jsonl import lines
from ctxsim.replay import replay
from ctxsim.results import read_run
from ctxsim.tally import Sent
from ctxsim.task import Setting
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript
from ctxsim.view import View
from ctxsim.writer import _Parquet

WORDS = "word " * 400
PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0)


def mine(cls: type[Policy], transcript: Transcript, **rules: object) -> list[Sent]:
    spec = Spec(cls.name, ((cls, cls.name, {}),), open_estimator())
    return list(replay(transcript, spec, Provider(**rules), Counter(open_tokenizer())))  # type: ignore[arg-type]


def test_tokens_full_does_not_depend_on_the_policy() -> None:
    assembly = Assembly("reasoning")
    assembly.user("go")
    for n in range(3):
        reasoning = [Part("reasoning", WORDS)] if n == 0 else []
        assembly.response([*reasoning, Part("tool_call", "{}", "t", f"c{n}")])
        assembly.result("word " * 300, f"c{n}")
    assembly.user("next")
    assembly.response([Part("assistant", "ok")])
    full = [
        [sent.row.tokens_full for sent in run(assembly.transcript(), label, reasoning="current_turn")]
        for label in ("keep-all", "fifo:budget=100")
    ]
    assert full[0] == full[1]


def test_openai_frames_each_parallel_result() -> None:
    assembly = Assembly("parallel")
    assembly.user("go")
    assembly.response([Part("tool_call", "{}", "t", f"c{n}") for n in range(3)])
    for n in range(3):
        assembly.result("r", f"c{n}")
    assembly.response([Part("assistant", "ok")])
    framed, plain = (run(assembly.transcript(), "keep-all", framing=name)[1].row for name in ("openai", "none"))
    # 3 for the request and 3 for each wire message: user, assistant, three results.
    assert framed.tokens_sent - plain.tokens_sent == 3 + 3 * 5


def test_smallest_quota_counts_summaries_and_is_enough() -> None:
    transcript = conversation(*[WORDS] * 10)
    label = open_policy("summary:at=0.1,keep_last=2")
    provider = Provider(window=20_000, pace_s=10)
    counter = Counter(open_tokenizer())
    quota = Measured(transcript, label, provider, counter).summary(None).smallest_quota
    for tokens, waits in ((quota, False), (quota - 1, True)):
        limited = Provider(window=20_000, pace_s=10, rate_limit=RateLimit(tokens_per_minute=tokens))
        rows = Measured(transcript, label, limited, counter).calls
        assert (sum(row.http_429 for row in rows) > 0) == waits, tokens


def test_equal_bytes_are_a_cache_hit_whatever_we_call_them() -> None:
    @dataclass
    class Repin(Policy):
        """Takes its note out and puts the same one back."""

        def before_call(self, view: View) -> View:
            old = [item.place for item in view if item.synthetic]
            return (view.drop(old, "re-pin") if old else view).insert("always the same note", 0, "re-pin")

    sent = mine(Repin, conversation(*[WORDS * 3] * 4), cache="openai", pace_s=10)
    reads = [one.row.tokens_cache_read for one in sent]
    assert reads[2] < reads[3] < reads[4]
    assert not any(one.row.cache_break for one in sent)


def test_a_chain_retries_as_often_as_its_retry_says() -> None:
    transcript = conversation(*[WORDS] * 30)
    alone = run(transcript, "retry:attempts=2", window=5_000)
    chained = run(transcript, "mask:keep=50+retry:attempts=2", window=5_000)
    assert max(one.row.attempts for one in alone) == max(one.row.attempts for one in chained) == 3


def test_an_idle_ephemeral_policy_leaves_a_chain_lasting() -> None:
    transcript = conversation(*[WORDS] * 10)
    label = "summary:at=0.2,keep_last=2"
    alone = sum(one.row.summary_calls for one in run(transcript, label, window=6_000))
    idle = f"clear-tool-uses:trigger=1000000,sticky=False+{label}"
    busy = f"clear-tool-uses:trigger=700,keep=1,sticky=False+{label}"
    assert sum(one.row.summary_calls for one in run(transcript, idle, window=6_000)) == alone
    assert sum(one.row.summary_calls for one in run(transcript, busy, window=6_000)) == alone


def test_sticky_clears_count_once() -> None:
    sent = run(conversation(*[WORDS] * 12), "clear-tool-uses:trigger=2500,keep=2,clear_at_least=1000")
    cleared = [edit.before.place for one in sent for _, edit in one.edits if edit.before]
    assert len(cleared) == len(set(cleared)) > 4


def test_clearing_after_a_policy_that_drops() -> None:
    sent = run(conversation(*[WORDS] * 12), "fifo:budget=1500+clear-tool-uses:trigger=900,keep=1")
    assert {one.row.status for one in sent} == {"ok"}


def test_payback_uses_the_long_write_price() -> None:
    transcript = conversation(*[WORDS * 4] * 5, system=WORDS * 4)
    policy = open_policy("token-budget:budget=5000,retain=50")
    found = []
    for long in (False, True):
        provider = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=1, long_cache=long)
        measured = Measured(transcript, policy, provider, Counter(open_tokenizer()))
        found.append(payback_calls(measured.calls, provider))
    # (6 - 0.3) against (3.75 - 0.3)
    assert found[1] == pytest.approx((found[0] or 0) * 5.7 / 3.45, rel=1e-3)


def test_a_thrown_away_overflow_edit_is_no_cause() -> None:
    @dataclass
    class Useless(Policy):
        def on_overflow(self, view: View, error: object) -> View:  # type: ignore[override]
            return view.insert("longer", 0, "thrown away")

    sent = mine(Useless, conversation(*[WORDS * 4] * 3), window=3_000, cache="openai", pace_s=10_000)
    assert not any("thrown away" in one.row.cache_break for one in sent)
    assert {one.row.cache_break for one in sent} == {"", "lifetime"}
    assert all(one.row.items_edited == 0 and not one.edits for one in sent)


def test_who_gives_up_sends_nothing() -> None:
    @dataclass
    class Quitter(Policy):
        def before_call(self, view: View) -> View | Stop:
            return Stop("95 % reached") if len(view) > 2 else view

    sent = mine(Quitter, conversation(*[WORDS] * 4), rate_limit=RateLimit(tokens_per_minute=500))
    assert [one.row.status for one in sent] == ["ok", *["stopped"] * 4]
    assert all(one.row.wait_s == one.row.http_429 == 0 for one in sent)
    assert sent[1].row.reason == "95 % reached"


def test_override_ids_may_have_a_prefix(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[[model]]\nid = "openai/gpt-4o"\nwindow = 1234\nvendor = "none"\n')
    entries = read_overrides(file)
    for name in ("openai/gpt-4o", "gpt-4o"):
        found = find_model(name, None, entries)
        assert found and found.window == 1234 and found.vendor == "none"


def test_labels_keep_every_digit() -> None:
    assert open_policy("summary:at=0.70000001").label != open_policy("summary:at=0.7").label
    assert open_policy("fifo:budget=1,estimator=chars/3.0").label == "fifo:budget=1,estimator=chars:ratio=3"


@pytest.mark.parametrize(
    "label",
    ["token-budget:retain=-5", "max-result-chars:chars=-1", "mask:keep=-1", "head-tail:lines=0", "max-messages:n=0",
     "summary:keep_last=0", "summary:at=0", "summary:at=1.5", "retry:attempts=-1", "mask:batch=0"],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(label: str) -> None:
    with pytest.raises(LabelError, match=">="[0] if "at=" not in label else "[<>]"):
        open_policy(label)


@pytest.mark.parametrize("label", ["drop-all", "retry", "summary", "mask", "token-budget", "max-messages:n=1"])
def test_a_conversation_that_begins_with_a_response(label: str) -> None:
    assembly = Assembly("resumed")
    assembly.response([Part("assistant", "Where were we?")])
    assembly.user("There.")
    assembly.response([Part("assistant", "Right.")])
    assert len(run(assembly.transcript(), label, window=1)) == 2


def test_an_insert_beyond_the_end_stands_at_the_end() -> None:
    @dataclass
    class Far(Policy):
        def before_call(self, view: View) -> View:
            texts = {item.place: item.text + "!" for item in view.results[-1:]}
            return view.insert("note", 10_000, "far").rewrite(texts, "and a rewrite")

    assert len(mine(Far, conversation("a", "b", "c"))) == 4


def test_a_policy_that_raises_is_one_line_with_its_place() -> None:
    @dataclass
    class Buggy(Policy):
        def before_call(self, view: View) -> View:
            return view[99]  # type: ignore[return-value]

    with pytest.raises(ContractError, match=r"before_call raised IndexError: 99 \(.*view\.py:\d+\)"):
        mine(Buggy, conversation("a"))


@pytest.mark.parametrize(
    ("text", "what"), [("def broken(:\n", "SyntaxError"), ("import nothing_here\n", "nothing_here")]
)
def test_a_policy_file_that_cannot_be_loaded(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(LabelError, match=f"line 1: .*{what}"):
        open_policy(f"{file}:X")


def test_empty_transcripts_make_a_table(tmp_path: Path) -> None:
    empty = [{"role": "user", "content": ""}, {"role": "assistant", "content": "hello"}]
    full = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text(json.dumps(empty))
    assert ctxsim("bench", "logs", cwd=tmp_path).returncode == 0
    (tmp_path / "logs" / "b.json").write_text(json.dumps(full))
    assert ctxsim("bench", "logs", cwd=tmp_path).returncode == 0


def test_a_damaged_archive_does_not_stop_the_others(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.zip").write_bytes(b"PK\x03\x04 not really")
    with ZipFile(tmp_path / "logs" / "b.zip", "w") as archive:
        archive.writestr("one.json", json.dumps(chat))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 1 and "a.zip: is a damaged zip archive" in done.stderr
    assert "Traceback" not in done.stderr
    assert "one.json" in (tmp_path / "results" / "logs" / "summary.csv").read_text()


@pytest.mark.parametrize("form", ["jsonl", "document"])
def test_half_an_emoji_in_arguments(form: str, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "sh", "input": {"c": "echo \ud83d"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok \udc00"}]},
    ]
    file = tmp_path / "m.json"
    file.write_text("\n".join(map(json.dumps, messages)) if form == "jsonl" else json.dumps(messages))
    (transcript,) = read(str(file))
    assert transcript.items[1].text == '{"c":"echo \ufffd"}' and transcript.items[2].text == "ok \ufffd"
    converted = ctxsim("transcripts", "convert", str(file), "-o", "out.jsonl", cwd=tmp_path)
    assert converted.returncode == 0, converted.stderr


def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    folder = tmp_path / "logs"
    folder.mkdir()
    (Path(str(folder)) / "n\udcffm.json").write_text(json.dumps(chat))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import os
    import threading

    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(json.dumps(chat)))
    writer.start()
    found = [transcript for source in sources(str(fifo)) for transcript in read_source(source)]
    writer.join()
    assert len(found) == 1


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = ctxsim("bench", "--scenario", "documented-53k", "--out", "file/x", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "file" in done.stderr


def test_prices_in_no_steps_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[[model]]\nid = "x"\nprices = {input = [], output = 1.0}\n')
    with pytest.raises(InputError, match="at least one"):
        read_overrides(file)


def test_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    for name in ("claude-4.5-a", "claude-4.5-b", "documented-53k"):
        (tmp_path / f"{name}.json").write_text(json.dumps(chat))
        assert ctxsim("bench", f"{name}.json", "--policy", "keep-all", cwd=tmp_path).returncode == 0
    arguments = ("--scenario", "documented-53k", "--policy", "keep-all")
    assert ctxsim("bench", "documented-53k.json", *arguments, cwd=tmp_path).returncode == 0
    found = {folder.name for folder in (tmp_path / "results").iterdir()}
    assert found == {"claude-4.5-a", "claude-4.5-b", "documented-53k", "documented-53k-recorded"}


def test_the_smallest_quota_of_a_session_with_pauses_of_weeks() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        at_s, requests = 0.0, []
        for _ in range(60):
            at_s += chance.expovariate(1 / (14 * 86_400)) if chance.random() < 0.05 else chance.uniform(5, 25)
            requests.append((at_s, chance.randrange(20_000, 150_000)))

        def waits(quota: int, requests: list[tuple[float, int]] = requests) -> bool:
            bucket = Bucket(quota)
            for second, need in requests:
                wait_s = bucket.wait_s(need, second)
                # Of weeks in seconds a double holds a ten-thousandth of a microsecond.
                if wait_s is None or wait_s > 1e-6:
                    return True
                bucket.take(need, second)
            return False

        quota = smallest_quota(requests)
        assert not waits(quota + 1) and waits(quota - 1)


def test_a_cache_without_known_prices(tmp_path: Path) -> None:
    setting = Setting("a", "a", ("keep-all", "mask:keep=1"), overrides={"cache": "anthropic"})
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation(WORDS, WORDS, "c", "d"))))
    bench(setting, tmp_path / "out", paths=[str(tmp_path / "a.jsonl")])
    assert read_run(tmp_path / "out").summary.cost_usd.isna().all()


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation("one", "two"))))
    given = [str(tmp_path), str(tmp_path / "a.jsonl"), f"{tmp_path}/../{tmp_path.name}/a.jsonl"]
    assert [source.name for source in sources(*given)] == [str(tmp_path / "a.jsonl")]
    assert bench(Setting("a", "a", ("keep-all",)), tmp_path / "out", paths=given).inputs[0].transcripts == 1
    assert read_run(tmp_path / "out").transcripts == 1


def test_a_disk_that_is_full_at_the_end_leaves_the_run_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation("one", "two"))))
    out, given = tmp_path / "out", [str(tmp_path / "a.jsonl")]
    bench(Setting("a", "a", ("keep-all",)), out, paths=given)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    closed = 0
    close = _Parquet.close

    def full(self: _Parquet) -> None:
        nonlocal closed
        closed += 1
        if closed == 3:
            raise OSError(28, "No space left on device")
        close(self)

    monkeypatch.setattr(_Parquet, "close", full)
    with pytest.raises(CtxsimError, match="No space left on device"):
        bench(Setting("a", "a", ("drop-all",)), out, paths=given)
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before
    assert read_run(out).labels == ["keep-all"]


def test_the_frontier_does_not_depend_on_the_order_of_questions() -> None:
    for seed in range(25):
        chance = random.Random(seed)
        keepings = [
            Keeping(
                source, tuple((call, chance.randrange(1, 9_000)) for call in sorted(chance.sample(range(1, 30), 5)))
            )
            for source in range(9)
        ]
        calls = {one.source: [call for call, _ in one.steps] for one in keepings}
        goals = []
        for source, of_source in calls.items():
            for call in of_source:
                others = [other for other in calls if call in calls[other] and chance.random() < 0.7]
                goals.append(Goal(call, 1 / 45, tuple(sorted({source, *others}))))
        questions = [level / 17 for level in range(18)]
        in_order, shuffled = Programme(keepings, goals), Programme(keepings, goals)
        answers = {level: in_order.least(level) for level in questions}
        for level in chance.sample(questions, len(questions)):
            assert shuffled.least(level) == answers[level]


def test_a_stopped_call_hides_no_edit_from_the_pair_rule() -> None:
    @dataclass
    class DropsAndStops(Policy):
        """Drops the task after call 2 and gives up once, at call 3."""

        def before_call(self, view: View) -> View | Stop:
            return Stop("enough") if sum(item.kind == "tool_call" for item in view) == 2 else view

        def after_call(self, view: View, usage: object) -> View:
            asked = sum(item.kind == "tool_call" for item in view)
            return view.drop([view[0].place], "r") if asked == 2 and view[0].kind == "user" else view

    sent = mine(DropsAndStops, conversation("a", "b", "c", "d"))
    assert [one.row.status for one in sent] == ["ok", "ok", "stopped", "ok", "ok"]


def test_a_report_of_an_empty_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"messages": [')
    assert "no call to replay" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    for command in ("report", "plot", "losses"):
        done = ctxsim(command, "out", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "ctxsim: out: holds no replayed call\n")
