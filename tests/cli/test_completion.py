"""Values complete in the shell: policies, scenarios, columns, models, runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from ctxsim.cli import cli
from ctxsim.policies import open_policy, registered_policies


def completed(line: str) -> list[str]:
    *before, typed = line.split(" ")
    found = ShellComplete(cli, {}, "ctxsim", "_CTXSIM_COMPLETE").get_completions(before, typed)
    return [one.value for one in found]


@pytest.mark.parametrize("command", ["bench", "sweep", "replay", "drive", "forecast"])
def test_policies_and_links_of_chains(command: str) -> None:
    assert completed(f"{command} --policy head-t") == ["head-tail"]
    assert completed(f"{command} --policy mask:keep=3+head-t") == ["mask:keep=3+head-tail"]
    # What must be given is begun.
    assert completed(f"{command} --policy fif") == ["fifo:budget="]
    assert len(completed(f"{command} --policy ")) == len(registered_policies())


def test_every_completed_policy_opens() -> None:
    for label in completed("bench --policy "):
        open_policy(f"{label}20" if label.endswith("=") else label)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("drive --policy head-t", "head-tail"), ("check policy head-t", "head-tail"),
        ("bench --scenario one-", "one-prompt"), ("drive --play one-", "one-prompt"),
        ("check policy mask --scenario one-", "one-prompt"), ("bench --columns least_tokens_", "least_tokens_any"),
        ("sweep --columns usd,kept_l", "usd,kept_loose"), ("bench --model gpt-4o-min", "gpt-4o-mini"),
        ("serve --model gpt-4o-min", "gpt-4o-mini"), ("check setting --model gpt-4o-min", "gpt-4o-mini"),
    ],
)  # fmt: skip
def test_other_values(line: str, value: str) -> None:
    assert value in completed(line)
    typed = line.rpartition(" ")[2]
    assert all(found.startswith(typed) for found in completed(line))


def test_folders_of_runs(undisturbed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "one").symlink_to(undisturbed)
    (tmp_path / "results" / "no-run").mkdir()
    monkeypatch.chdir(tmp_path)
    for line in ("report ", "compare r", "compare results/one results/", "check run ./res"):
        assert completed(line) == ["results/one"], line
    assert completed(f"report {tmp_path}/results/o") == [f"{tmp_path}/results/one"]
    assert completed("report results/n") == [] and completed("check agent r") == []
    assert completed("report results/one --policy head-t") == completed("compare a b --policy head-t") == ["head-tail"]
