"""Published versions of an agent, and what two of them have in common."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from probed_agent import agent

from ctxsim.api.probing import SettingChecks
from ctxsim.errors import CtxsimError
from ctxsim.live import install
from ctxsim.live.install import published
from ctxsim.live.probe.check import SettingCheck, alike, bisected

ONE = SettingCheck(
    "codex", "1.0", "m", "limit", 60_000, {}, "honoured", "proactive", 59_000, 60_000, 60_000.0, "proactive", True,
    "tokens", 272_000, 1_000, 5_000, 10, 1.0, True,
)  # fmt: skip


def test_one_check_is_a_row_as_it_is_among_others() -> None:
    found = ONE.frame()
    assert found.verdict.tolist() == ["honoured"] and found.equals(SettingChecks((ONE,)).frame())


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True), ({"firing": "never"}, False), ({"unit": "characters"}, False),
        # 59,000 to 60,000 beside brackets that only touch it, and that reach a token into it.
        ({"lower": 60_000, "upper": 61_000}, False), ({"lower": 59_999, "upper": 61_000}, True),
        ({"lower": 58_000, "upper": 59_000}, False), ({"lower": 58_000, "upper": 59_001}, True),
        # Without a bracket on either side nothing overlaps.
        ({"lower": None, "upper": None}, False), ({"upper": None}, True), ({"lower": None}, False),
    ],
)  # fmt: skip
def test_two_versions_do_the_same_where_their_brackets_overlap(change: dict[str, Any], same: bool) -> None:
    other = msgspec.structs.replace(ONE, **change)
    assert alike(ONE, other) is same is alike(other, ONE)


@pytest.mark.parametrize(("chars", "same"), [(4_600, True), (4_601, False), (3_400, True), (3_399, False)])
def test_a_cut_is_the_same_within_600_characters(chars: int, same: bool) -> None:
    one, other = (msgspec.structs.replace(ONE, unit="characters", lower=n, upper=n) for n in (4_000, chars))
    assert alike(one, other) is same


@pytest.mark.parametrize(
    ("changed", "ran"),
    [
        # 0 to 8: both ends, then the middle of what is left until two neighbours differ.
        (1, ["0", "8", "4", "2", "1"]), (5, ["0", "8", "4", "6", "5"]), (8, ["0", "8", "4", "6", "7"]), (9, ["0", "8"]),
    ],
)  # fmt: skip
def test_the_versions_that_are_run(changed: int, ran: list[str]) -> None:
    asked: list[str] = []

    def check(version: str) -> SettingCheck:
        asked.append(version)
        return msgspec.structs.replace(ONE, version=version, firing="never" if int(version) >= changed else "proactive")

    found = [one.version for one in bisected([str(number) for number in range(9)], check)]
    assert asked == ran
    assert found == sorted(ran)


@pytest.fixture
def npm(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    said: dict[str, Any] = {"out": json.dumps(["1.0.0", "1.10.0", "1.2.0", "1.2.0-beta.1", "2.0.0", "0.9.0"])}

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        said["command"] = command
        if said["out"] is None:
            raise subprocess.TimeoutExpired(command, 120)
        return SimpleNamespace(stdout=said["out"])

    monkeypatch.setattr(install.subprocess, "run", run)
    monkeypatch.setattr(install, "program", lambda agent, name: name)
    monkeypatch.setattr(install, "package_of", lambda agent: agent.package.replace("{machine}", "linux-x64"))
    return said


def test_published_versions_ascend_by_number_within_both_ends(npm: dict[str, Any]) -> None:
    one = msgspec.structs.replace(agent(), installer="npm", package="pack-{machine}")
    assert published(one, "1.0", "1.10") == ["1.0.0", "1.2.0", "1.10.0"]
    assert npm["command"] == ["npm", "view", "pack-linux-x64", "versions", "--json"]
    assert published(one, "1.3", "2") == ["1.10.0", "2.0.0"]
    with pytest.raises(CtxsimError, match=r"fewer than two versions from 1\.3 to 1\.10"):
        published(one, "1.3", "1.10")
    for out in ("no json", None):
        npm["out"] = out
        with pytest.raises(CtxsimError, match="npm doesn't say"):
            published(one, "1", "2")
    with pytest.raises(CtxsimError, match="npm packages only"):
        published(agent(), "1", "2")
