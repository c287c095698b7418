"""The contract of readers, on readers of one's own: each way to break it has its own words."""

from __future__ import annotations

import json
import re
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim
from invented import write_logs
from project import ROOT

from ctxsim.errors import InputError, LabelError, NotATranscript, UnknownName
from ctxsim.plugins.limit import VARIABLE
from ctxsim.readers import contract, read, read_source, reader, registered_formats, sources
from ctxsim.readers.contract import examined
from ctxsim.transcript import Head, Item, Transcript

LOG = [
    {"who": "user", "message": "Look for the tickets that are open."},
    {"who": "call", "id": "c1", "name": "search", "input": "tickets with the state open"},
    {"who": "result", "id": "c1", "output": "ticket-1093 is open, ticket-1094 is closed"},
    {"who": "agent", "message": "The one that is open is ticket-1093.", "input_tokens": 40},
]

GOOD = """
import json
from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Usage

READ = []

def matches(sample):
    return any(isinstance(one, dict) and "who" in one for one in sample.records)

def read(source, sample):
    made = Assembly(source.name, "mine")
    for number, line in source.lines():
        try:
            one = json.loads(line)
        except ValueError:
            raise InputError(f"{source.name}:{number}", "is no JSON") from None
        who = one.get("who")
        if who == "user":
            made.user(one["message"])
        elif who == "call":
            made.response([Part("tool_call", one["input"], one["name"], one["id"])])
        elif who == "result":
            made.result(one["output"], one["id"])
        elif who == "agent":
            made.response([Part("assistant", one["message"])], Usage(one["input_tokens"], 1))
    yield made.transcript()
"""

BROKEN = {
    # what is written instead of what, and what is said of it
    "recognised": ('"who" in one', '"what" in one', "`matches` doesn't recognise it"),
    "raises": ('one["output"]', 'one["outptu"]', "raised KeyError: 'outptu' (mine.py:25)"),
    "exits": ('one["output"]', '__import__("sys").exit(0)', "raised SystemExit: 0 (mine.py:25)"),
    "refuses": ('who = one.get("who")', 'raise InputError("log", "no")', "can't be read: log: no"),
    "twice": ("    yield made", "    READ.append(0)\n    made.notes.append(str(len(READ)))\n    yield made",
              "a second reading gives something else"),
    "results": ("made.result(one[\"output\"], one[\"id\"])", "pass",
                '42 characters under "output" are in no item and no head'),
    "texts": ('made.user(one["message"])', 'made.user(one["message"][:9])',
              '35 characters under "message" are in no item and no head'),
    "usage": (", Usage(one[\"input_tokens\"], 1)", "", "the file holds usage, and no call has any"),
    "cut": ('raise InputError(f"{source.name}:{number}", "is no JSON") from None', "raise",
            "a file cut in its middle raises JSONDecodeError"),
    "other JSON": ('any(isinstance(one, dict) and "who" in one for one in sample.records)', 'sample.records[0]["who"]',
                   "other JSON raises KeyError: 'who' (mine.py:10)"),
    "matching": ('isinstance(one, dict) and "who" in one', 'one["what"]', "raised KeyError: 'what' (mine.py:10)"),
    "nothing": ('    made = Assembly(source.name, "mine")', "    return None\n\ndef unused(source):\n    made = 0",
                "can't be read: {log}: the reader mine.py gives None instead of transcripts"),
    "a text": ("yield made.transcript()", "yield 'a' * 99",
               f"can't be read: {{log}}: the reader mine.py gives '{'a' * 39} instead of a Transcript"),
    "nothing of a cut file": ('raise InputError(f"{source.name}:{number}", "is no JSON") from None', "yield None",
                              "a file cut in its middle: {log}: the reader mine.py gives None instead of a Transcript"),
    "for ever": ("    made = Assembly", "    while True: pass\n    made = Assembly",
                 "reading it twice took longer than 0.3 s; CTXSIM_POLICY_SECONDS sets the limit"),
    "for ever, other JSON": (
        'any(isinstance(one, dict) and "who" in one for one in sample.records)',
        'next(True for one in iter(lambda: sample.records, 0) if isinstance(one[0], dict) and "who" in one[0])',
        "other JSON: took longer than 0.3 s; CTXSIM_POLICY_SECONDS sets the limit"),
    "a helper of ours": ('made.user(one["message"])', "made.user(5)",
                         "raised AttributeError: 'int' object has no attribute 'text' (mine.py:21)"),
    "arguments as a dict": ('one["input"], one["name"]', '{"q": 1}, one["name"]', "can't be read: {log}: the reader"
                                   " mine.py gives a wrong value: Expected `str`, got `object` - at `$.items[1].text`"),
    "an unknown kind": ('Part("assistant"', 'Part("model"', "can't be read: {log}: the reader mine.py gives a wrong "
                        "value: Invalid enum value 'model' - at `$.items[3].kind`"),
    "usage in a text": ('Usage(one["input_tokens"], 1)', 'Usage("40", 1)', "can't be read: {log}: the reader mine.py "
                        "gives a wrong value: Expected `int`, got `str` - at `$.calls[1].usage.input_tokens`"),
    "a value of no type": ('"mine")', '1j)', "can't be read: {log}: the reader mine.py gives a wrong value: Encoding"
                           " objects of type complex is unsupported"),
    "changes": ("    yield made", "    source.path.write_text('{}') if source.path else None\n    yield made",
                "reading changed the file"),
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that no built-in format knows."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in LOG))
    return path


def said(log: Path, text: str) -> str:
    (log.parent / "mine.py").write_text(text)
    found, known = examined("mine.py", [str(log)])
    assert not known
    return "\n".join(found)


def test_a_good_one_keeps_it(log: Path) -> None:
    assert said(log, GOOD) == ""


@pytest.mark.parametrize("how", BROKEN)
def test_each_way_to_break_it_is_told(how: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.3")
    before, after, told = BROKEN[how]
    assert GOOD.count(before) == 1
    assert f"log.jsonl: {told.replace('{log}', str(log))}" in said(log, GOOD.replace(before, after))


def test_ids_that_come_twice_and_a_conversation_without_a_call(log: Path) -> None:
    log.write_text("".join(json.dumps(one) + "\n" for one in [*LOG[:3], *LOG[1:]]))
    assert "2 tool calls have the id c1" in said(log, GOOD)
    log.write_text(json.dumps(LOG[0]) + "\n")
    assert "log.jsonl: gives no call" in said(log, GOOD)


def test_what_many_long_texts_lose_is_found_in_no_time() -> None:
    texts = [f"{number:08}" * 1_000 for number in range(2_000)]
    made = Transcript("a", Head(), tuple(Item("user", place, place + 1, text) for place, text in enumerate(texts)), ())
    data = b"\n".join(msgspec.json.encode({"text": text}) for text in [*texts, "no" * 20])
    began = time.process_time()
    assert list(contract._lost(data, [made])) == ['40 characters under "text" are in no item and no head']
    # Texts of 23 characters may be anything.
    assert list(contract._lost(msgspec.json.encode([{"text": "x" * 23}, {"text": "y" * 24}]), [made])) == [
        '24 characters under "text" are in no item and no head'
    ]
    assert time.process_time() - began < 2


def test_what_another_format_would_read_too_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "logs", count=1)
    (tmp_path / "all.py").write_text(
        "from ctxsim.readers.formats import codex\n\ndef matches(sample):\n    return True\n\nread = codex.read\n"
    )
    done = ctxsim("check", "reader", "all.py", "logs/rollout-1.jsonl", cwd=tmp_path)
    assert done.stderr.startswith("ctxsim: logs/rollout-1.jsonl: codex-rollout would read it as well: reader:all.py:")


@pytest.mark.parametrize("name", ["openai-chat", "claude-code", "codex-rollout"])
def test_built_in_ones_keep_it(name: str, tmp_path: Path) -> None:
    file = {"openai-chat": "chat-1.json", "claude-code": "claude-1.jsonl", "codex-rollout": "rollout-1.jsonl"}[name]
    done = ctxsim("check", "reader", name, str(write_logs(tmp_path / "logs", count=1) / file), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{name}: keeps the contract\n")


def test_a_folder_that_is_one_conversation_is_recognised_as_a_whole(tmp_path: Path) -> None:
    for number, (who, text) in enumerate((("user", "Go."), ("agent", "Done."))):
        event = {"id": number, "source": who, "action": "message", "message": text, "args": {"content": text}}
        (tmp_path / f"{number}.json").write_text(json.dumps(event))
    assert examined("openhands-events", [str(tmp_path)]) == ([], [])
    found, known = examined("codex-rollout", [str(tmp_path)])
    assert found == [f"{tmp_path}: can't be read: {tmp_path}: cannot be read: Is a directory"]
    assert known == [f"{tmp_path}: openhands-events would read it as well: reader:codex-rollout:PATH says which"]


def test_a_reader_without_a_format_gives_its_name_and_a_mistake_is_its_own(log: Path) -> None:
    (log.parent / "mine.py").write_text(GOOD.replace('(source.name, "mine")', "(source.name)"))
    assert [one.format for one in read("reader:mine.py:log.jsonl")] == ["mine.py"]
    (log.parent / "bad.py").write_text(GOOD.replace('one["output"]', 'one["outptu"]'))
    with pytest.raises(InputError, match=r"by a mistake of the reader bad\.py: KeyError: 'outptu' \(bad\.py:25\)"):
        list(read("reader:bad.py:log.jsonl"))
    (log.parent / "exits.py").write_text(GOOD.replace('one["output"]', '__import__("sys").exit(0)'))
    with pytest.raises(InputError, match=r"by a mistake of the reader exits\.py: SystemExit: 0 \(exits\.py:25\)"):
        list(read("reader:exits.py:log.jsonl"))


def test_a_reader_that_takes_too_long_is_left(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0.1")
    (log.parent / "slow.py").write_text(GOOD.replace("    yield", "    __import__('time').sleep(2)\n    yield"))
    with pytest.raises(InputError, match=r"mistake of the reader slow\.py: TooLong: took longer than 0\.1 s; CTXSIM_"):
        list(read("reader:slow.py:log.jsonl"))


def test_a_file_in_which_a_reader_finds_no_conversation_is_told(log: Path) -> None:
    (log.parent / "mine.py").write_text(GOOD.replace("    yield made.transcript()", "    yield from ()"))
    with pytest.raises(NotATranscript, match=r"log\.jsonl: holds no conversation"):
        list(read_source(*sources("reader:mine.py:log.jsonl")))


def test_a_path_can_say_who_reads_it(log: Path) -> None:
    (log.parent / "mine.py").write_text(GOOD)
    with pytest.raises(InputError, match="is no transcript format that ctxsim knows: JSON object with keys who"):
        list(read("log.jsonl"))
    (one,) = read("reader:mine.py:log.jsonl")
    assert (one.name, one.format, len(one.calls)) == ("log.jsonl", "mine", 2)
    done = ctxsim("bench", "reader:mine.py:log.jsonl", "--policy", "mask:keep=0", cwd=log.parent)
    assert done.returncode == 0 and "Results: results/log.mask-keep=0/" in done.stdout
    write_logs(log.parent / "logs", count=1)
    (named,) = read("reader:codex-rollout:logs/rollout-1.jsonl")
    assert named.format == "codex-rollout"
    # The reader is asked, whatever the content: what isn't his he refuses in a line.
    done = ctxsim("transcripts", "check", "reader:tau-bench:logs/rollout-1.jsonl", cwd=log.parent)
    assert done.returncode == 1 and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "error", "told"),
    [
        ("reader:codx:log.jsonl", UnknownName, "unknown format 'codx'; did you mean"),
        ("reader:no.py:log.jsonl", LabelError, "no reader file no.py"),
        ("reader:one.py:log.jsonl", LabelError, r"one\.py is no reader: its read must take"),
        ("reader:mine.py", InputError, "reader:mine.py: is not reader:NAME:PATH"),
        ("reader:mine.py:no.jsonl", InputError, "no.jsonl: does not exist"),
    ],
)
def test_a_reader_that_is_none_is_told(path: str, error: type[Exception], told: str, log: Path) -> None:
    (log.parent / "mine.py").write_text(GOOD)
    (log.parent / "one.py").write_text("def matches(sample): return True\ndef read(source): return []\n")
    with pytest.raises(error, match=told):
        list(read(path))


def test_the_reader_of_the_page_reads_and_keeps_the_contract(log: Path) -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (log.parent / "who.py").write_text(example)
    lines = [
        {"who": "user", "text": "What is here? Look into the folder."},
        {"who": "model", "text": "Let me look into this folder.", "tool": "ls", "input": "{}", "tokens": 40},
        {"who": "tool", "text": "a file of letters, and a file of figures"},
        {"who": "model", "text": "There are letters and figures here.", "tokens": 70},
    ]
    (log.parent / "who.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (made,) = read("reader:who.py:who.jsonl")
    assert [item.kind for item in made.items] == ["user", "assistant", "tool_call", "tool_result", "assistant"]
    assert [call.usage.input_tokens for call in made.calls if call.usage] == [40, 70]
    done = ctxsim("check", "reader", "who.py", "who.jsonl", cwd=log.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_installed_reader_is_asked_first_and_listed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (log.parent / "own_reader.py").write_text(f"{GOOD}\nTITLE = 'Our own logs'\n")
    monkeypatch.syspath_prepend(log.parent)
    point = EntryPoint("ours", "own_reader", "ctxsim.readers")
    monkeypatch.setattr(reader, "installed", lambda group: [point] if group == point.group else [])
    caches = (reader._installed, reader.registered_formats, reader._folder_formats)
    for cache in caches:
        cache.cache_clear()
    try:
        assert next(iter(registered_formats())) == "ours"
        assert [one.format for one in read("log.jsonl")] == ["mine"]
        assert [one.format for one in read("reader:ours:log.jsonl")] == ["mine"]
        monkeypatch.setattr(registered_formats()["ours"], "matches", lambda sample: sample.nothing)
        with pytest.raises(InputError, match="by a mistake of the reader own_reader: AttributeError: "):
            list(read("log.jsonl"))
        monkeypatch.setenv(VARIABLE, "0.1")
        monkeypatch.setattr(registered_formats()["ours"], "matches", lambda sample: time.sleep(2))
        with pytest.raises(InputError, match=r"mistake of the reader own_reader: TooLong: took longer than 0\.1 s"):
            list(read("log.jsonl"))
        assert "ours: Our own logs" in ctxsim("list", "formats", "our", cwd=log.parent).stdout
        reader._installed.cache_clear()
        point = EntryPoint("ours", "no_such_module", "ctxsim.readers")
        with pytest.raises(LabelError, match=r"^installed reader ours \(no_such_module\): ModuleNotFoundError: "):
            list(read("log.jsonl"))
    finally:
        for cache in caches:
            cache.cache_clear()


def test_without_a_recording_nothing_is_checked(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    with pytest.raises(InputError, match=r"mine\.py: name a recording to check it on"):
        examined(str(tmp_path / "mine.py"), [])
