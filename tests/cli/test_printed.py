"""What some commands print, in full.

They are `ctxsim.cli.validate`, `ctxsim.cli.calibrate`, `ctxsim.cli.transcripts`, `ctxsim.cli.bill` and
`ctxsim.cli.serve`.
"""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from bench_runs import write
from command_line import ctxsim
from compacted import session
from invented import write_logs
from samples import conversation

from ctxsim.api.trust import Checked
from ctxsim.cli import bill as bill_room
from ctxsim.cli import calibrate as calibrate_room
from ctxsim.cli import serve as serve_room
from ctxsim.cli import transcripts as transcripts_room
from ctxsim.cli.calibrate import MOST_GROUPS
from ctxsim.counting.estimators.calibrated import Calibration, Heads, Ratio
from ctxsim.errors import InputError
from ctxsim.live.log import Entry
from ctxsim.transcript import Usage


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def ratio(value: float, low: float | None = None, high: float | None = None) -> Ratio:
    return Ratio(value, low, high, 12, 3, 4_000, 1_234)


FIT = Calibration(
    2, "o200k_base", ratio(3.5, 3.0, 4.0), 3.25, None, "tool", {"Bash": ratio(2.0)}, {},
    {"mean error": 0.123, "p95": None}, {}, None, "texts like these",
)  # fmt: skip


def printed(fit: Calibration, form: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    import click

    with click.Context(click.Command("calibrate")):
        calibrate_room._print(fit, "o200k_base", form)
    return capsys.readouterr().out.splitlines()


def test_a_fit_is_a_table_a_formula_and_what_it_holds_for(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(FIT, "table", capsys)
    rows = [line.split() for line in lines]
    assert ["all", "3.50", "3.00", "to", "4.00", "12", "1,234"] in rows
    assert ["Bash", "2.00", "-", "12", "1,234"] in rows
    assert lines[-4:] == [
        "mean error: 12.3%", "p95: needs 5 transcripts", "formula: tokens = ceil(characters / 3.25)",
        "valid for: texts like these",
    ]  # fmt: skip
    risky = msgspec.structs.replace(FIT, risk=0.05)
    assert printed(risky, "table", capsys)[-2:] == [
        "formula: tokens = ceil(characters / 3.25) (fitted to underestimate at most 5.0% of transcripts near "
        "the window)",
        "valid for: texts like these",
    ]  # fmt: skip
    counted = msgspec.structs.replace(risky, errors={"of recorded requests": 0.5})
    assert printed(counted, "table", capsys)[-1] == (
        "The risk is of counted requests. For recorded ones see the shares above, or fit with --against usage."
    )
    # Nothing but rows for programs.
    assert [line.split(",")[:2] for line in printed(FIT, "csv", capsys)] == [
        ["tool", "chars_per_token"], ["all", "3.5"], ["Bash", "2.0"]
    ]  # fmt: skip


def test_fitted_heads_are_told_with_their_spread(capsys: pytest.CaptureFixture[str]) -> None:
    fit = msgspec.structs.replace(FIT, heads=Heads(1_000, 900, 2_500, 7, 1), risk=0.05, errors={"of recorded": 0.5})
    lines = printed(fit, "table", capsys)
    assert lines[-5:] == [
        "groups: texts as o200k_base counts them, scaled to what was recorded overall",
        "heads: median 1,000 tokens, 10th to 90th percentile 900 to 2,500, of 7 series; 1 left out, whose texts don't "
        "explain their growth",
        "of recorded: 50.0%",
        "formula: tokens = head + ceil(characters / 3.25) (fitted to underestimate at most 5.0% of transcripts near "
        "the window)",
        "valid for: texts like these",
    ]  # fmt: skip
    assert any("requests" in line for line in lines) and any(
        "recorded = head + characters / c" in line for line in lines
    )
    by_model = printed(msgspec.structs.replace(fit, by="model"), "table", capsys)
    assert not any(line.startswith("groups:") for line in by_model)


def test_twenty_four_groups_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    many = msgspec.structs.replace(FIT, groups={f"tool{n:02}": ratio(2.0) for n in range(30)})
    shown = [line.split()[0] for line in printed(many, "table", capsys) if line.startswith(" tool")]
    assert MOST_GROUPS == 24 and [one for one in shown if one != "tool"] == [f"tool{n:02}" for n in range(24)]


def test_a_transcript_is_checked_in_one_line(tmp_path: Path) -> None:
    made = conversation("one", "two", name="a")
    used = (msgspec.structs.replace(made.calls[0], usage=Usage(9), model="m"), *made.calls[1:])
    write(tmp_path / "logs", msgspec.structs.replace(made, calls=used, notes=("2 line(s) left out",)), "a")
    write(tmp_path / "logs", msgspec.structs.replace(conversation("x"), parent="logs/a.jsonl"), "b")
    done = ctxsim("transcripts", "check", "logs", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert (
        done.returncode == 0
        and lines[0].startswith("a: ")
        and ", 3 calls (usage in 1), 6 messages, 2 tool results, " in lines[0]
    )
    assert lines[1] == "    2 lines left out"
    assert ", 2 calls (no usage), 4 messages, 1 tool result, " in lines[2] and lines[2].endswith(
        ", sub-agent of logs/a.jsonl"
    )
    assert lines[3].startswith("2 transcripts: 2 ")
    rows = ctxsim("transcripts", "check", "logs", "--format", "csv", cwd=tmp_path).stdout.splitlines()
    assert rows[0] == "transcript,format,model,calls,with usage,messages,results,tokens,parent,notes"
    assert rows[1].split(",")[3:7] == ["3", "1", "6", "2"] and rows[1].endswith(",,2 line(s) left out")
    assert ctxsim("transcripts", "check", "logs", "--format", "md", cwd=tmp_path).stdout.count("| 1 |\n") >= 1


def test_the_largest_share_of_results_is_told_first(tmp_path: Path) -> None:
    write(tmp_path / "logs", conversation("word " * 30, "word " * 10), "a")
    done = ctxsim("transcripts", "stats", "logs", cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    # Of 150 and 50 characters, 30 and 10 tokens and a space.
    assert ["tool", "2", "100", "150", "150", "42", "100.0%", "4.76"] in rows
    assert ["prose", "2", "100", "150", "150", "42", "100.0%", "4.76"] in rows
    empty = conversation("")
    write(tmp_path / "empty", empty, "a")
    rows = [line.split() for line in ctxsim("transcripts", "stats", "empty", cwd=tmp_path).stdout.splitlines()]
    assert ["tool", "1", "0", "0", "0", "0", "0.0%", "-"] in rows, rows


def test_sessions_on_this_machine_are_told_by_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = datetime(2026, 1, 2, tzinfo=UTC).timestamp()

    def place(agent: str, format: str, many: int, size: int) -> Any:
        return SimpleNamespace(
            place=SimpleNamespace(agent=agent, format=format), paths=[Path(f"/x/{agent}{n}") for n in range(many)],
            bytes=size, first_s=day, last_s=day + 86_400 * 3, folder=Path("/x"),
        )  # fmt: skip

    found = [place("Codex", "codex-rollout", 2, 1_250_000), place("Pi", "pi", 1, 0)]
    monkeypatch.setattr("ctxsim.cli.transcripts.kept", lambda: found)
    assert ctxsim("transcripts", "find", cwd=tmp_path).stdout.splitlines() == [
        "Codex             2 paths       1.2 MB  files of 2026-01-02 to 2026-01-05  codex-rollout /x",
        "Pi                 1 path       0.0 MB  files of 2026-01-02 to 2026-01-05  pi            /x",
    ]  # fmt: skip
    assert ctxsim("transcripts", "find", "--paths", cwd=tmp_path).stdout.split() == ["/x/Codex0", "/x/Codex1", "/x/Pi0"]
    found.clear()
    none = ctxsim("transcripts", "find", cwd=tmp_path).stdout
    assert none.startswith("no sessions of ") and none.endswith(" on this machine\n") and none.count("Codex") == 1
    assert transcripts_room.WRITTEN == ("ctxsim", "atif")


def test_calls_that_are_modelled_worst_are_told(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    done = ctxsim("validate", "logs/rollout-1.jsonl", cwd=tmp_path)
    lines = done.stdout.splitlines()
    at = lines.index("Calls that are modelled worst:")
    errors = [float(line.split()[0].rstrip("%")) for line in lines[at + 1 :]]
    assert done.returncode == 0 and len(errors) == 5 and [abs(one) for one in errors] == sorted(map(abs, errors))[::-1]
    assert all(
        line.startswith("  ") and "logs/rollout-1.jsonl call " in line and "recorded " in line
        for line in lines[at + 1 :]
    )
    none = ctxsim("validate", "logs/chat-1.json", cwd=tmp_path)
    assert none.returncode == 1 and "no call with recorded usage; validate needs recordings" in none.stderr
    assert "modelled worst" not in ctxsim("validate", "logs/rollout-1.jsonl", "--format", "csv", cwd=tmp_path).stdout
    for option in (("--estimator", "chars"), ("--threshold", "9"), ("--tokenizer", "o200k_base"), ("--out", "x")):
        assert ctxsim("validate", "logs", *option, cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("own", [True, False])
def test_a_bill_closes_with_what_hinders_a_change_and_the_pace(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told: Any = SimpleNamespace(closing=lambda less: ["closing"], pace=lambda ahead, lines: f"pace {ahead} {lines}")
    monkeypatch.setattr(bill_room, "told", told)
    monkeypatch.setattr(bill_room, "hindrances", lambda places, settings: [f"hindered {settings}"])
    monkeypatch.setattr(bill_room, "of_places", list)

    def closing(usd: float, given: list[Any], ahead: Any) -> list[str]:
        found: Any = SimpleNamespace(total=lambda: SimpleNamespace(usd=usd), ahead=lambda: ahead, lines="lines")
        less: Any = SimpleNamespace(savings=[SimpleNamespace(given=one) for one in given])
        return list(bill_room._closing(found, less, own))

    hindered = ["hindered ['a', 'b']"] if own else []
    assert closing(1.0, ["a", None, "b"], "x") == ["closing", *hindered, "pace x lines"]
    assert closing(0.0, [None], None) == ["No change is billed: no price is known."]

    def unreadable() -> Any:
        raise InputError("f", "is broken")

    monkeypatch.setattr(bill_room, "of_places", unreadable)
    assert closing(1.0, ["a"], "x") == ["closing", "pace x lines"]


def test_a_bill_opens_with_copies_and_memory_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("unfinished", "summaries"):
        monkeypatch.setattr(bill_room, name, lambda lines, name=name: name)
    told: Any = SimpleNamespace(opening=lambda lines, *rest: rest, older=lambda lines: iter(["older"]))
    monkeypatch.setattr(bill_room, "told", told)

    def opening(repeated: int, memory: dict[str, int]) -> list[Any]:
        found: Any = SimpleNamespace(lines=SimpleNamespace(repeated=repeated), memory=memory)
        return list(bill_room._opening(found, "total"))  # type: ignore[arg-type]

    begin = ["total", "unfinished", "summaries", "older"]
    assert opening(0, {}) == begin
    assert opening(1, {"A.md": 1_200}) == [
        *begin, "Counted once: 1 response that several files hold.", "A.md: 1,200 tokens, in every request."
    ]  # fmt: skip


def test_a_request_is_told_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Endpoint:
        provider = SimpleNamespace(describe=lambda: "window 9")
        conversation, steps, url = SimpleNamespace(name="x"), 3, "http://here"

        def __enter__(self) -> Endpoint:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def wait(self) -> None:
            for entry in (
                Entry("default", 1, "main", 2, 200, 1_500, 5, None, {}, {}),
                Entry("a", 2, "title", 0, 429, 10, 0, None, {}, {}, dropped=1, cut=2, retry=True, unused="bash"),
                Entry("a", 3, "main", 1, 200, 10, 0, None, {}, {}, cut=2),
            ):
                asked["told"](entry)

    def serve(what: str, **how: Any) -> Endpoint:
        asked.update(how, what=what)
        return Endpoint()

    monkeypatch.setattr(serve_room, "serve", serve)
    done = ctxsim("serve", "x", "--port", "0", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "Provider: window 9", "x: 3 steps at http://here/v1", "default 1: step 2, 1,500 tokens, 200",
        "a 2: title, 10 tokens, 1 dropped, 2 cut, asked again, 429; no tool of the request can stand for bash",
        "a 3: step 1, 10 tokens, 0 dropped, 2 cut, 200",
    ]  # fmt: skip
    assert (asked["what"], asked["port"], asked["host"], asked["faults"]) == ("x", 0, "127.0.0.1", ())
    assert (
        ctxsim("serve", "x", "-q", cwd=tmp_path).stdout == "x: 3 steps at http://here/v1\n" and asked["port"] == 8_484
    )


@pytest.mark.parametrize(("line", "out", "files"), [
    ("validate s --estimates --estimator chars", "o", 4), ("compactions s", "o", 8), ("calibrate s", "o/c.json", 2)
])  # fmt: skip
def test_files_are_written_even_if_nobody_reads_what_is_printed(
    line: str, out: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(errno.EPIPE, "closed")

    write(tmp_path / "s", session(), "s")
    (tmp_path / "o").mkdir()
    monkeypatch.setattr(f"ctxsim.cli.{line.split()[0]}.show", closed)
    assert ctxsim(*line.split(), "--out", out, cwd=tmp_path).returncode == 1
    assert len(list((tmp_path / "o").iterdir())) == files


def test_of_a_thousand_violations_the_first_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tuple(f"violation {n}" for n in range(1_021))
    monkeypatch.setattr("ctxsim.cli.check.check", lambda kind, target, **more: Checked(target, lines))
    done = ctxsim("check", "estimator", "chars", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == "chars: 1,021 violations\n"
    assert done.stderr.splitlines() == [*lines[:20], "... and 1,001 more; --format csv shows all"]
    assert ctxsim("check", "estimator", "chars", "--format", "csv", cwd=tmp_path).stdout.count("violation,") == 1_021
