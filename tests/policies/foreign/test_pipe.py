"""Programs as policies: the lines that go to and fro, and everything that a program can do wrong."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import ctxsim
from project import ROOT
from samples import ASK, TASK, chat, conversation, run

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import ContractError, CtxsimError, LabelError
from ctxsim.policies import open_policy
from ctxsim.policies.foreign import process
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay

TALK = chat(
    TASK, ASK, ("tool_result", "one"), ASK, ("tool_result", "two"), ASK, ("tool_result", "three"), ("assistant", ".")
)


@pytest.fixture(autouse=True)
def nobody_is_left_behind() -> Any:
    """Programs that a test leaves idle end with it."""
    yield
    process.end_all()


def pipe(tmp_path: Path, body: str, hello: str = '{"ctxsim": 1}', name: str = "p") -> str:
    """The label of a program that answers `start` with `hello` and runs `body` for each other line, `asked`."""
    file = tmp_path / f"{name}.py"
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    file.write_text(
        "import json, os, sys, time\n"
        f"log = open({str(tmp_path / 'log')!r}, 'a')\n"
        "def say(answer):\n    print(answer if isinstance(answer, str) else json.dumps(answer), flush=True)\n"
        "for line in sys.stdin:\n"
        "    print(os.getpid(), line, end='', file=log, flush=True)\n"
        "    asked = json.loads(line)\n"
        f"    if asked['moment'] == 'start':\n        say({hello!r})\n    else:\n{indented}\n"
    )
    return f"pipe:{shlex.join([sys.executable, str(file)])}"


def log(tmp_path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Which process was asked what."""
    lines = (tmp_path / "log").read_text().splitlines()
    return [(int(line.split(" ", 1)[0]), json.loads(line.split(" ", 1)[1])) for line in lines]


UNCHANGED = "say({'unchanged': True})"


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent doesn't."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def ended(pid: int) -> bool:
    """Whether a process ends within a moment."""
    for _ in range(50):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


# the lines


def test_an_answer_is_read_while_the_line_is_written() -> None:
    """More than pipes hold: a program that answers as it reads waits for its reader."""
    program = process.Process("cat")
    stop = threading.Timer(5.0, os.killpg, (program._process.pid, signal.SIGKILL))
    stop.start()
    try:
        assert program.ask(b"x" * 1_000_000, 4.0) == b"x" * 1_000_000
        assert program.ask(b"y", 4.0) == b"y" and program.asked == 2
    finally:
        stop.cancel()
        program.end()


def test_only_what_is_new_is_sent(tmp_path: Path) -> None:
    run(TALK, pipe(tmp_path, UNCHANGED))
    asked = [line for _, line in log(tmp_path) if line["moment"] == "before_call"]
    assert [[message["id"] for message in line["new"]] for line in asked] == [
        ["m0"], ["a1", "m2"], ["a3", "m4"], ["a5", "m6"],
    ]  # fmt: skip
    # 12 characters of the task, by length / 4; then "read" and "{}" are a token each, "one" too.
    assert [line["estimate"] for line in asked[:2]] == [3, 6]
    assert "usage" not in asked[0] and asked[1]["usage"]["input_tokens"] > 0
    assert [line["call"] for line in asked] == [1, 2, 3, 4] and asked[0]["window"] == 200_000
    # It is asked for its moments before any transcript is known: with an empty head, of no tokens.
    start = log(tmp_path)[0][1]
    assert (start["window"], start["head"]["system"], start["head"]["tokens"]) == (0, "", 0)


def test_all_is_sent_where_it_is_asked_for(tmp_path: Path) -> None:
    run(TALK, pipe(tmp_path, UNCHANGED, '{"send": "all"}'))
    asked = [line for _, line in log(tmp_path) if line["moment"] == "before_call"]
    assert [len(line["messages"]) for line in asked] == [1, 3, 5, 7]


def test_it_is_asked_at_the_moments_that_it_names(tmp_path: Path) -> None:
    hello = '{"moments": ["tool_result", "after_call", "overflow"]}'
    body = """
if asked["moment"] == "tool_result":
    say({"content": asked["content"][:2]})
elif asked["moment"] == "after_call":
    say({"unchanged": True})
else:
    say({"change": {asked["new"][0]["id"]: {"content": "!"}}} if asked["new"] else {"unchanged": True})
"""
    sent = run(TALK, pipe(tmp_path, body, hello))
    assert [item.text for item in sent[-1].view if item.kind == "tool_result"] == ["on", "tw", "th"]
    moments = [line["moment"] for _, line in log(tmp_path)]
    assert moments == ["start", "start", "after_call", *["tool_result", "after_call"] * 3]
    (tmp_path / "log").unlink()
    process.end_all()
    refused = run(conversation("x" * 4_000), pipe(tmp_path, body, hello, "q"), window=120)
    # At ingestion the result is cut to 2 characters: nothing is refused.
    assert refused[1].attempts == 1 and refused[1].verdict.status == "ok"


def test_its_edits_last_or_are_that_request_alone(tmp_path: Path) -> None:
    body = "say({'change': {'m2': None, 'a1': None}} if asked['call'] == 2 else {'unchanged': True})"
    lasting = run(TALK, pipe(tmp_path, body, name="a"))
    assert [len(sent.view) for sent in lasting] == [1, 1, 3, 5]
    passing = run(TALK, pipe(tmp_path, body, '{"lasting": false}', "b"))
    assert [len(sent.view) for sent in passing] == [1, 1, 5, 7]


def test_it_is_told_what_a_summary_says_and_what_others_did(tmp_path: Path) -> None:
    body = """
if asked["call"] == 3:
    say({"messages": [{"id": "mine", "role": "user", "content": "So far: {summary}", "summarize": True},
                      {"id": "a3"}, {"id": "m4"}]})
else:
    say({"unchanged": True})
"""
    sent = run(TALK, f"mask:keep=1+{pipe(tmp_path, body)}")
    assert sent[2].tally.summaries and sent[2].view[0].sources == (0, 1, 2)
    last = log(tmp_path)[-1][1]
    (mine, masked) = last["changed"]
    assert mine["id"] == "mine" and mine["content"] == sent[2].view[0].text != "So far: {summary}"
    assert masked["id"] == "m4" and masked["content"].startswith("Old environment output")
    assert [message["id"] for message in log(tmp_path)[-2][1]["changed"]] == ["m2"]


def test_it_may_stop(tmp_path: Path) -> None:
    sent = run(TALK, pipe(tmp_path, "say({'stop': 'enough'} if asked['call'] == 2 else {'unchanged': True})"))
    assert sent[1].verdict == ("stopped", "enough") or sent[1].verdict.reason == "enough"


def test_one_process_serves_many_transcripts_and_two_replays_at_once_have_two(tmp_path: Path) -> None:
    label = pipe(tmp_path, UNCHANGED)
    run(TALK, label)
    run(TALK, label)
    # A replay that is over has given its process back, whoever still holds it.
    held = []
    for _ in range(2):
        held.append(replay(TALK, open_policy(label), Provider(), Counter(open_tokenizer())))
        assert len(list(held[-1])) == 4
    assert len({pid for pid, _ in log(tmp_path)}) == 1
    run(TALK, f"{label}+{label}")
    assert len({pid for pid, _ in log(tmp_path)}) == 2


# labels


@pytest.mark.parametrize(
    "command",
    ["python p.py", "sh -c 'echo 1+1,estimator=x'", 'jq -c "a + b | c"', "./p --at=0.7,x:y", "python ../p.py --keep=3"],
)
def test_labels_hold_any_command(command: str) -> None:
    label = f"pipe:{command}"
    assert open_policy(label).label == label
    chain = f"mask:keep=3,batch=1+{label}+keep-all"
    assert open_policy(chain).label == chain and len(open_policy(chain).links) == 3
    decided = f"{label},estimator=chars:ratio=3"
    assert open_policy(decided).label == decided and open_policy(decided).estimator != open_policy(label).estimator


def test_bad_commands_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="no closing quotation"):
        open_policy("pipe:sh -c 'x")
    with pytest.raises(LabelError, match="needs a command"):
        open_policy("pipe:")
    with pytest.raises(LabelError, match="No such file or directory: no-such-program"):
        run(TALK, "pipe:no-such-program --at 3")


# what can go wrong


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("say('garbage')", "answers before_call with 'garbage'"),
        ("say('{}')", "answers nothing: give one of unchanged"),
        ("say('[1]')", "expected `object`, got `array`"),
        ("say({'unchnged': True})", "unchnged"),
        ("say({'unchanged': True, 'stop': 'x'})", "answers with unchanged and stop"),
        ("say({'change': {'m99': None}})", "changes message m99, which isn't there"),
        ("say({'messages': [{'role': 'user', 'content': 'x'}]})", "a message that has no id"),
        ("say({'content': 'x'})", "content where messages are meant"),
        ("sys.exit(3)", r"ended without an answer; it ended with status 3 \(line 3\)"),
        ("print('why it failed', file=sys.stderr); sys.exit(3)", "line 3.: why it failed"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        # In one write: two are a race between the second and the next question, which takes it for its answer.
        (r"say('{\"unchanged\": true}\n{\"unchanged\": true}')", "more than one line"),
    ],
)
def test_what_a_program_does_wrong_is_one_line(body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CtxsimError, match=said) as raised:
        run(TALK, pipe(tmp_path, body))
    assert "\n" not in str(raised.value) and str(raised.value).count("pipe:") == 1


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        ('{"ctxsim": 2}', "speaks version 2 of the protocol, this is version 1"),
        ('{"moments": ["befor_call"]}', "befor_call"),
        ('{"seconds": 0}', "seconds"),
        ("hello", "answers start with 'hello'"),
    ],
)
def test_a_wrong_hello_is_one_line(hello: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CtxsimError, match=said):
        run(TALK, pipe(tmp_path, UNCHANGED, hello))


@pytest.mark.parametrize("answer", ["{'messages': []}", "{'change': {}}", "{'stop': 'x'}"])
def test_a_result_is_given_other_content_or_none(answer: str, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="answers tool_result with something else than content or unchanged"):
        run(TALK, pipe(tmp_path, f"say({answer})", '{"moments": ["tool_result"]}'))


def test_only_before_call_may_stop(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="stops at after_call; only before_call may"):
        run(TALK, pipe(tmp_path, "say({'stop': 'x'})", '{"moments": ["after_call"]}'))


@pytest.mark.parametrize(
    "body", ["time.sleep(12)", "while True: sys.stdout.write('x' * 1000)", "os.close(1); time.sleep(12)"],
    ids=["silent", "endless line", "mute"],
)  # fmt: skip
def test_who_takes_too_long_is_ended(body: str, tmp_path: Path) -> None:
    began = time.monotonic()
    # A quick machine writes more than is ever read, before the time is over.
    said = r"no answer within 0\.3 s|ended without an answer|an answer of more than"
    with pytest.raises(CtxsimError, match=said):
        run(TALK, pipe(tmp_path, body, '{"seconds": 0.3}'))
    assert time.monotonic() - began < 10
    assert all(ended(pid) for pid, _ in log(tmp_path))


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    """It ignores the end of its input and SIGTERM, and has a child that does so too."""
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    body = f"""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdin=subprocess.DEVNULL)
print(child.pid, '{{"moment": "child"}}', file=log, flush=True)
say({{"unchanged": True}})
while asked["call"] == 4: time.sleep(1)
"""
    run(TALK, pipe(tmp_path, body))
    pids = {pid for pid, _ in log(tmp_path)}
    assert len(pids) == 5 and all(alive(pid) for pid in pids)
    process.end_all()
    assert all(ended(pid) for pid in pids)


def test_a_bench_with_workers_leaves_nobody_behind(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for n in range(2):
        lines = [{"role": "user", "content": f"Task {n}."}, {"role": "assistant", "content": "Done."}] * 3
        (logs / f"{n}.json").write_text(json.dumps({"messages": lines}))
    label = pipe(tmp_path, UNCHANGED)
    outs = []
    for jobs in ("1", "2"):
        out = tmp_path / f"out{jobs}"
        done = ctxsim(
            "bench", str(logs), "--policy", label, "--jobs", jobs, "--out", str(out), cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        outs.append({file.name: file.read_bytes() for file in sorted(out.iterdir()) if file.is_file()})
    assert outs[0] == outs[1] and label in json.loads(outs[0]["run.json"])["policies"]
    # One job runs in this process, whose programs wait for the next bench; workers have ended, and theirs with them.
    assert sum(alive(pid) for pid in {pid for pid, _ in log(tmp_path)}) <= len(process._running)
    process.end_all()
    assert all(ended(pid) for pid, _ in log(tmp_path))


def test_it_ends_when_ctxsim_is_killed(tmp_path: Path) -> None:
    """Nobody can end a program then: it sees the end of its input."""
    code = f"""
import os, signal, sys
sys.path[:0] = {[str(ROOT), str(ROOT / "tests")]!r}
from samples import TASK, chat, run
run(chat(TASK, ("assistant", "Done.")), {pipe(tmp_path, UNCHANGED)!r})
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], env={**os.environ}, check=False)
    assert all(ended(pid) for pid, _ in log(tmp_path))


def test_a_forked_copy_lets_go_of_programs_and_warns_of_nothing() -> None:
    code = (
        "import os, sys\n"
        "from ctxsim.policies.foreign.process import borrow\n"
        "program = borrow('cat')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    del program\n"
        "    sys.exit(0)\n"
        "status = os.waitpid(child, 0)[1]\n"
        "print(status, program.ask(b'still there', 5.0))\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 b'still there'\n", "")


def test_a_line_costs_what_is_new_not_what_is_there(tmp_path: Path) -> None:
    """Bytes, which are the same on every machine: twice the conversation, twice the bytes, edits at each call."""
    body = """
seen = globals().setdefault("seen", [])
seen += [message["id"] for message in asked["new"] if message["role"] == "tool"]
say({"change": {seen[-1]: {"content": "!"}}} if seen else {"unchanged": True})
"""

    def sent(results: int) -> int:
        label = pipe(tmp_path, body, name=f"p{results}")
        run(conversation(*(f"result {n} " * 50 for n in range(results))), label)
        size = (tmp_path / "log").stat().st_size
        (tmp_path / "log").unlink()
        return size

    assert 1.8 < sent(40) / sent(20) < 2.2
