"""What `ctxsim check setting` says of a check, in every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from command_line import ctxsim

from ctxsim.api.probing import SettingChecks
from ctxsim.cli import check_setting
from ctxsim.cli.check_setting import _pair, lines
from ctxsim.live.probe.check import SettingCheck

SEEN = SettingCheck(
    "codex", "0.169.0", "gpt-5", "limit", 60_000, {}, "honoured", "in time", 58_049, 60_051, 60_000.4, "in time", True,
    "tokens", 272_000, 9_000, 31, 12.6, True, formula="limit",
)  # fmt: skip


def changed(**fields: Any) -> SettingCheck:
    return msgspec.structs.replace(SEEN, **fields)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ["honoured.", "Fires between 58.0K and 60.1K tokens; expected 60,000.", "(limit)"]),
        ({"formula": ""}, ["honoured.", "Fires between 58.0K and 60.1K tokens; expected 60,000."]),
        ({"expected": None, "expected_firing": "never"},
         ["honoured.", "Fires between 58.0K and 60.1K tokens; expected: never."]),
        ({"upper": None, "firing": "never"}, ["honoured.", "Fires never; expected 60,000.", "(limit)"]),
        ({"lower": None, "firing": "never"}, ["honoured.", "Fires never; expected 60,000.", "(limit)"]),
        ({"unit": "characters", "lower": 2_500, "expected": 2_400.0},
         ["honoured.", "A large result keeps 2,500 characters; expected 2,400."]),
        ({"unit": "characters", "lower": 2_500, "expected": None},
         ["honoured.", "A large result keeps 2,500 characters; expected: in time."]),
        ({"verdict": "needs more", "needs": ("a", "b")},
         ["acts only with a, b.", "Fires between 58.0K and 60.1K tokens; expected 60,000.", "(limit)"]),
        ({"verdict": "capped", "cap": "90 % of the window"},
         ["capped at 90 % of the window of 272,000 tokens.", "Fires between 58.0K and 60.1K tokens; expected 60,000.",
          "(limit)"]),
        ({"verdict": "capped", "cap": "9,000"},
         ["capped at 9,000.", "Fires between 58.0K and 60.1K tokens; expected 60,000.", "(limit)"]),
        ({"verdict": "capped"},
         ["capped.", "Fires between 58.0K and 60.1K tokens; expected 60,000.", "(limit)"]),
    ],
)  # fmt: skip
def test_a_check_is_a_verdict_what_was_seen_and_what_it_rests_on(fields: dict[str, Any], said: list[str]) -> None:
    assert lines(changed(**fields)) == [
        f"codex 0.169.0, gpt-5: {said[0]}", *said[1:], "13 s, 31 calls, offline."
    ]  # fmt: skip
    assert lines(changed(offline=False))[-1] == ("13 s, 31 calls, not enclosed: it could have used the network.")


@pytest.mark.parametrize(
    ("text", "pair"),
    [("a=1", ("a", 1)), ("a=0.5", ("a", 0.5)), ("a=true", ("a", True)), ("a=text", ("a", "text")), ("a=", ("a", "")),
     ('a="1"', ("a", "1")), ("a=[1]", ("a", "[1]")), ("a=null", ("a", "null")), ("a.b=c=d", ("a.b", "c=d"))],
)  # fmt: skip
def test_a_value_has_its_type_and_quotes_make_a_text(text: str, pair: tuple[str, Any]) -> None:
    found = _pair(text)
    assert found == pair and type(found[1]) is type(pair[1])


@pytest.mark.parametrize("text", ["=1", "a", ""])
def test_what_is_no_pair_is_told(text: str) -> None:
    with pytest.raises(click.UsageError, match="is no KEY=VALUE"):
        _pair(text)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the checks are asked for; `found` is what they find."""
    made: dict[str, Any] = {"found": [SEEN]}

    def check(agent: str, given: Any, **how: Any) -> SettingCheck:
        made["asked"] = (agent, given, how)
        return made["found"][0]

    def bisect(agent: str, given: Any, first: str, last: str, *, told: Any, **how: Any) -> SettingChecks:
        made["asked"] = (agent, given, first, last, how)
        for one in made["found"]:
            told(one)
        return SettingChecks(tuple(made["found"]))

    monkeypatch.setattr(check_setting, "check_setting", check)
    monkeypatch.setattr(check_setting, "bisect_setting", bisect)
    return made


def test_one_check_is_asked_for_as_it_is_typed(asked: dict[str, Any], tmp_path: Path) -> None:
    done = ctxsim("check", "setting", "codex", "limit=60000", "b=x", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, lines(SEEN), "")
    plain = {"version": "", "model": "", "window": 0, "install": False}
    assert asked["asked"] == ("codex", {"limit": 60_000, "b": "x"}, plain)
    more = ("--version", "1.2", "--model", "gpt-5", "--window", "9000", "--install", "--format", "csv")
    asked["found"] = [changed(inside=False)]
    done = ctxsim("check", "setting", "codex", "limit=60000", *more, cwd=tmp_path)
    assert asked["asked"][2] == {"version": "1.2", "model": "gpt-5", "window": 9_000, "install": True}
    assert done.returncode == 1, "it isn't what the formula expects"
    assert done.stdout.splitlines() == [
        "agent,version,model,key,value,verdict,firing,lower,upper,expected,unit,inside,calls,seconds,offline",
        "codex,0.169.0,gpt-5,limit,60000,honoured,in time,58049,60051,60000.4,tokens,False,31,12.6,True",
    ]


def test_between_two_versions_the_changes_are_told(asked: dict[str, Any], tmp_path: Path) -> None:
    never = changed(version="0.170.0", verdict="ignored", firing="never", lower=None, upper=None)
    cut = changed(version="0.171.0", unit="characters", lower=2_500)
    asked["found"] = [SEEN, never, cut]
    line = ("check", "setting", "codex", "limit=60000", "--version", "0.169.0..0.171.0")
    done = ctxsim(*line, "--window", "9000", cwd=tmp_path)
    assert asked["asked"] == ("codex", {"limit": 60_000}, "0.169.0", "0.171.0", {"model": "", "window": 9_000})
    assert done.stderr.splitlines() == [
        "ctxsim: codex 0.169.0: fires between 58.0K and 60.1K tokens", "ctxsim: codex 0.170.0: fires never",
        "ctxsim: codex 0.171.0: a large result keeps 2,500 characters",
    ]  # fmt: skip
    assert done.stdout.splitlines() == [
        "It changed in 0.170.0: fires between 58.0K and 60.1K tokens in 0.169.0, then fires never.",
        "It changed in 0.171.0: fires never in 0.170.0, then a large result keeps 2,500 characters.",
    ]
    asked["found"] = [SEEN, changed(version="0.170.0")]
    done = ctxsim(*line, cwd=tmp_path)
    assert done.stdout == "0.169.0 and 0.170.0 do the same: fires between 58.0K and 60.1K tokens.\n"
    for wrong in ("..0.2", "0.1.."):
        assert ctxsim(*line[:-1], wrong, cwd=tmp_path).returncode == 2
