"""The commands as a stranger runs them: from another directory, piped, with mistakes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from ctxsim.report.tables import markdown
from ctxsim.results import read_run

ROOT = Path(__file__).parents[1]


def ctxsim(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ctxsim", *arguments], cwd=cwd, input=stdin, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("bench")
    done = ctxsim("bench", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "results", done.stdout


def test_bench_without_arguments_runs_both_scenarios(bench: tuple[Path, str]) -> None:
    results, printed = bench
    for name in ("documented-53k", "fifty-turns"):
        files = {file.name for file in (results / name).iterdir()}
        assert files == {
            "run.json", "calls.parquet", "calls.csv", "events.parquet", "items.parquet", "needs.parquet",
            "losses.parquet", "frontier.csv", "frontier.parquet", "needles.csv", "needles.parquet", "summary.csv",
            "summary.parquet", "token-growth.png", "estimates.png", "survival-tokens.png", "survival-dollars.png",
        }  # fmt: skip
        assert (results / name / "token-growth.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"call 7: [^\n]*\n +rate limit", printed)
    assert "Provider: window 200,000" in printed and "[scenario documented-53k]" in printed
    assert max(map(len, printed.splitlines())) <= 200
    tables = [line for line in printed.splitlines() if not line.startswith(("Provider", "Results"))]
    assert max(map(len, tables)) <= 100


def test_csv_and_parquet_hold_the_same_rows(bench: tuple[Path, str]) -> None:
    folder = bench[0] / "documented-53k"
    csv, parquet = pandas.read_csv(folder / "calls.csv"), pandas.read_parquet(folder / "calls.parquet")
    assert list(csv.columns) == list(parquet.columns)
    pandas.testing.assert_frame_equal(csv.tokens_sent.to_frame(), parquet.tokens_sent.to_frame())
    events = pandas.read_parquet(folder / "events.parquet")
    removed = (events.tokens_before - events.tokens_after).groupby(events.policy).sum()
    assert removed.to_dict() == {
        k: v for k, v in csv.groupby("policy").tokens_removed.sum().to_dict().items() if k in removed
    }


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_the_committed_run_is_what_a_fresh_run_gives(jobs: str, tmp_path: Path) -> None:
    done = ctxsim("bench", "--scenario", "documented-53k", "--jobs", jobs, "--out", "fresh", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("run.json", "calls.csv", "summary.csv"):
        committed = (ROOT / "results" / "documented-53k" / name).read_bytes()
        assert (tmp_path / "fresh" / name).read_bytes() == committed, (
            f"{name} differs; run `ctxsim bench` and look at it"
        )


def test_run_json_names_no_path_of_the_machine_and_no_time() -> None:
    text = (ROOT / "results" / "documented-53k" / "run.json").read_text()
    assert str(ROOT) not in text and not re.search(r"\d\d:\d\d:\d\d", text)
    columns = json.loads(text)["columns"]["calls"]
    assert columns["tokens_sent"] == "counted, tokens" and columns["tokens_estimated"] == "estimated, tokens"


def test_jobs_give_the_same_bytes_on_recorded_files(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(5):
        chat = [{"role": "system", "content": "s"}, {"role": "user", "content": f"task {number}"}]
        for step in range(number + 1):
            call = {"id": f"c{step}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
            chat += [{"role": "assistant", "content": None, "tool_calls": [call]}]
            chat += [{"role": "tool", "tool_call_id": f"c{step}", "content": "word " * 100 * (number + 1)}]
        chat.append({"role": "assistant", "content": "done"})
        (tmp_path / "logs" / f"chat{number}.json").write_text(json.dumps(chat))
    for jobs in ("1", "3"):
        assert ctxsim("bench", "logs", "--jobs", jobs, "--out", f"out{jobs}", cwd=tmp_path).returncode == 0
    for name in ("run.json", "calls.csv", "summary.csv"):
        assert (tmp_path / "out1" / name).read_bytes() == (tmp_path / "out3" / name).read_bytes()


def test_a_bad_file_is_reported_and_the_others_are_done(tmp_path: Path) -> None:
    good = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yo"},
    ]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text('[{"role": "user", "content": "cut')
    (tmp_path / "logs" / "b.json").write_text(json.dumps(good))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 1
    assert "a.json: is not complete JSON" in done.stderr and "Traceback" not in done.stderr
    rows = pandas.read_csv(tmp_path / "results" / "logs" / "summary.csv")
    assert set(rows.transcript) == {str(Path("logs") / "b.json")}


def test_a_stranger_among_transcripts_is_left_out_but_a_named_one_is_a_mistake(tmp_path: Path) -> None:
    good = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yo"},
    ]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "logs" / "b.json").write_text(json.dumps(good))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 0
    assert "package.json" in done.stderr and "left out: is no transcript format" in done.stderr
    checked = ctxsim("transcripts", "check", "logs", cwd=tmp_path)
    assert (
        checked.returncode == 0 and "left out:" in checked.stderr and "1 transcripts: 1 openai-chat" in checked.stdout
    )
    assert ctxsim("bench", "logs/package.json", cwd=tmp_path).returncode == 1


def test_transcripts_convert_and_stats(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    chat = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": [1, 2, 3]}'},
        {"role": "assistant", "content": "yo"},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    assert ctxsim("transcripts", "convert", "chat.json", "-o", "own.jsonl", cwd=tmp_path).returncode == 0
    direct = ctxsim("bench", "chat.json", "--out", "a", cwd=tmp_path)
    converted = ctxsim("bench", "own.jsonl", "--out", "b", cwd=tmp_path)
    assert direct.returncode == converted.returncode == 0
    assert (tmp_path / "a" / "calls.csv").read_bytes() == (tmp_path / "b" / "calls.csv").read_bytes()
    stats = ctxsim("transcripts", "stats", "chat.json", cwd=tmp_path).stdout
    assert re.search(r"search +1 +16 ", stats) and re.search(r"json +1 +16 ", stats)
    usage = ctxsim("transcripts", "check", "--against-usage", "chat.json", cwd=tmp_path)
    assert usage.returncode == 0 and "growth between calls" in usage.stdout


def test_standard_input(tmp_path: Path) -> None:
    chat = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yo"},
    ]
    done = ctxsim("bench", "-", "--policy", "keep-all", "--out", "out", cwd=tmp_path, stdin=json.dumps(chat))
    assert done.returncode == 0, done.stderr
    assert pandas.read_csv(tmp_path / "out" / "summary.csv").calls.tolist() == [1]


def test_replay_prints_seed_001s_diagnostic_on_standard_error(tmp_path: Path) -> None:
    done = ctxsim("replay", "documented-53k", "--policy", "token-budget", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ("Note: Compacted 3 old tool result(s) — input tokens (45,231) exceeded budget (40,000)\n")
    assert "45,231 / 200,000 (22.6% used)" in done.stdout and "calls left" in done.stdout
    assert "compaction (after_call): 3 edited" in done.stdout


def test_replay_says_what_call_7_had_lost(tmp_path: Path) -> None:
    done = ctxsim("replay", "documented-53k", "--policy", "token-budget", "--losses", cwd=tmp_path)
    lost = [line for line in done.stdout.splitlines() if "lost:" in line]
    assert len(lost) > 8 and all(
        "(after_call: input tokens (45,231) exceeded budget (40,000))" in line for line in lost
    )
    assert any("'ref-" in line and "gmail_read" in line for line in lost)
    kept = ctxsim("replay", "documented-53k", "--policy", "keep-all", "--losses", cwd=tmp_path)
    assert "lost:" not in kept.stdout


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_replay_prints_the_exact_request(format: str, tmp_path: Path) -> None:
    arguments = ("replay", "documented-53k", "--policy", "token-budget", "--request", "7", "--format", format)
    body = json.loads(ctxsim(*arguments, cwd=tmp_path).stdout)
    text = json.dumps(body)
    assert text.count("[truncated for context management]") == 3
    assert len(body["tools"]) == 5 and len(body["messages"]) == (13 if format == "anthropic" else 14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bnch"], "unknown command 'bnch'; did you mean bench?"),
        (["bench", "--scenario", "documented"], "did you mean documented-53k"),
        (["bench", "--policy", "tokn-budget"], "did you mean token-budget or"),
        (["bench", "--tokenizer", "o200"], "did you mean o200k_base?"),
        (["bench", "nothing-here"], "nothing-here: does not exist"),
        (["bench", "--model", "claude-sonet-4-5"], "did you mean claude-sonnet-4-5"),
        (["replay", "documented-53k", "--policy", "keep-all", "--request", "9"], "has 7 calls, there is no call 9"),
        (["replay", "fifty", "--policy", "keep-all"], "unknown scenario 'fifty'; did you mean fifty-turns?"),
    ],
)
def test_mistakes_are_one_line_and_a_non_zero_exit(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = ctxsim(*arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir()), "a failed command left files"


def test_lists(tmp_path: Path) -> None:
    policies = ctxsim("policies", cwd=tmp_path).stdout
    assert "token-budget:budget=40000,retain=500" in policies and "fifo:budget=<int>" in policies
    assert "Seeds 000 and 001" in policies
    assert "documented-53k: The documented failure" in ctxsim("scenarios", cwd=tmp_path).stdout
    assert "o200k_base   (default)" in ctxsim("tokenizers", cwd=tmp_path).stdout


@pytest.mark.slow
def test_tokenizers_verify(tmp_path: Path) -> None:
    done = ctxsim("tokenizers", "--verify", cwd=tmp_path)
    assert done.returncode == 0
    assert len(re.findall(r": splintr, tiktoken, transformers on \d+ texts: 0 disagreements", done.stdout)) == 2


def readme_policy() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return next(block for block in blocks if "(Policy)" in block)


def test_the_policy_in_the_readme_runs(tmp_path: Path) -> None:
    text = readme_policy()
    assert len(text.splitlines()) < 25
    class_name = re.findall(r"class (\w+)\(Policy\)", text)[0]
    (tmp_path / "mine.py").write_text(text)
    label = f"mine.py:{class_name}"
    done = ctxsim("bench", "--scenario", "documented-53k", "--policy", label, "--policy", "keep-all", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = pandas.read_csv(tmp_path / "results" / "documented-53k" / "summary.csv").set_index("policy")
    mine = rows[rows.index.str.startswith(label)].iloc[0]
    assert mine.compactions > 0 and mine.tokens_sum < rows.loc["keep-all"].tokens_sum
    checked = ctxsim("check-policy", label, cwd=tmp_path)
    assert checked.returncode == 0 and "keeps the contract" in checked.stdout


def test_the_table_in_the_readme_is_the_committed_runs() -> None:
    table = markdown(read_run(ROOT / "results" / "documented-53k"))
    assert table in (ROOT / "README.md").read_text()


def test_the_claim_about_dollars_in_the_readme(tmp_path: Path) -> None:
    arguments = ("--scenario", "documented-53k-cached", "--policy", "token-budget", "--out", "out")
    assert ctxsim("bench", *arguments, cwd=tmp_path).returncode == 0
    row = pandas.read_csv(tmp_path / "out" / "summary.csv").iloc[0]
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"sends {1 - row.tokens_sum / row.tokens_full_sum:.0%} fewer".replace("%", " %") in text
    assert f"costs {row.cost_vs_keep_all - 1:.0%} more".replace("%", " %") in text


def test_readme_commands_are_real(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    shell = "\n".join(re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL))
    commands = {
        line.split("ctxsim ", 1)[1].split()[0] for line in shell.splitlines() if "ctxsim " in line and "pip" not in line
    }
    for command in commands:
        assert ctxsim(command, "--help", cwd=tmp_path).returncode == 0, command


def test_wheel_holds_the_scenarios_and_works_elsewhere(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "copy")}
    (tmp_path / "copy").mkdir()
    shutil.copytree(ROOT / "ctxsim", tmp_path / "copy" / "ctxsim")
    shutil.copytree(ROOT / "scenarios", tmp_path / "copy" / "ctxsim" / "scenarios")
    done = subprocess.run(
        [sys.executable, "-m", "ctxsim", "scenarios"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "fifty-turns" in done.stdout, done.stderr
