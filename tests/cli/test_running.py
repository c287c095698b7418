"""Where a run's results go, and what its folder says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxsim.cli.running import _apart, _folder, _interruptible, split
from ctxsim.cli.sweep import _name
from ctxsim.runs.identity import REFERENCE

USUAL: dict[str, Any] = {
    "estimator": None, "models": None, "model": None, "window": None, "rules": (), "head": "fitted", "across": False
}  # fmt: skip


@pytest.mark.parametrize(
    ("policies", "said", "name"),
    [
        ([], {}, ""), (["mask:keep=5"], {}, ".mask-keep=5"), (["at/mine.py:Mine"], {}, ".mine.py-Mine"),
        (["a", "b"], {"window": 128_000}, ".a.b.window=128000"),
        ([], {"models": Path("at/own.toml")}, ".models=own.toml"),
        ([], {"model": "x/gpt-5"}, ".model=gpt-5"), ([], {"estimator": "chars:ratio=3"}, ".estimator=chars-ratio=3"),
        ([], {"rules": (("cache", "none"), ("pace_s", 0))}, ".cache=none.pace_s=0"),
        ([], {"refetch": 0.0}, ".refetch=0.0"), ([], {"refetch": 0.5, "draws": 3}, ".refetch=0.5.draws=3"),
        ([], {"sample": 60, "seed": 4}, ".sample=60.seed=4"), ([], {"sample": 60, "seed": 0}, ".sample=60"),
        ([], {"head": "none"}, ".head=none"), ([], {"head": 0}, ".head=0"), ([], {"across": True}, ".across"),
        (["x" * 59], {}, "." + "x" * 59),
    ],
)  # fmt: skip
def test_a_folder_is_called_by_what_is_not_usual(policies: list[str], said: dict[str, Any], name: str) -> None:
    assert _apart(policies, USUAL | said) == name


def test_a_name_that_is_too_long_ends_in_its_digest() -> None:
    names = [_apart(["x" * 59 + last], USUAL) for last in "ab"]
    # 61 characters are one too many: 53 of them, a hyphen and six of the digest.
    assert len(set(names)) == 2 and all(len(one) == 60 and one[:54] == "." + "x" * 52 + "-" for one in names)


def test_results_go_where_out_says_or_below_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _folder("there", "logs", ".mask", True) == Path("there")
    assert _folder("there", "logs", ".mask", False) == Path("there/logs")
    assert _folder(None, "logs", ".mask", True) == Path("results/logs.mask")
    Path("results/logs.mask").mkdir(parents=True)
    Path("results/logs.mask", REFERENCE).touch()
    assert _folder(None, "logs", ".mask", True) == Path("results/logs.mask-own")


def test_what_names_a_scenario_is_none_of_the_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert split(("logs", "one-prompt", "own.toml", "-"), ("fifty-turns",)) == (
        ["logs", "-"], ["fifty-turns", "one-prompt", "own.toml"]
    )  # fmt: skip


def test_the_first_ctrl_c_asks_and_the_second_stops(capsys: pytest.CaptureFixture[str]) -> None:
    import signal

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), _interruptible() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGINT)
        assert stopped()
        signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == "Stopping; the sources that are done are kept, go on with --resume.\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_sweep_is_called_by_its_policies_and_a_digest_of_their_settings() -> None:
    one, other = _name(["mask:keep=1|3+head-tail", "mask:keep=5"]), _name(["mask:keep=1|4+head-tail", "mask:keep=5"])
    assert one.startswith("mask+head-tail-") and len(one) == len("mask+head-tail-") + 6 and one != other
    assert _name(["mask:keep=1|3"]) == _name(["mask:keep=1..3@2"])
