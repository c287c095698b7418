"""What users have set: read from files, written in labels, and what of it an agent uses."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ctxsim.api.applying import change
from ctxsim.errors import InputError, LabelError
from ctxsim.plugins.files import without_comments
from ctxsim.policies import Surroundings, open_policy
from ctxsim.policies.agents.config import _of_variables, of_file, of_places
from ctxsim.policies.agents.given import (
    Given,
    effect,
    hindrances,
    parameters_of,
    parsed,
    setting_of,
    typed,
    written,
)
from ctxsim.policies.agents.lines import ENV, constructors, lines, where
from ctxsim.policies.agents.search import around, begin, label_of, policy_label, searched, usual
from ctxsim.policies.agents.settings_file import parsed as parsed_settings
from ctxsim.policies.agents.settings_file import settings_names

WINDOW = Given("claude-code", "autoCompactWindow", 150_000)


def test_settings_come_back_from_the_label_that_has_them() -> None:
    zed = Given("zed", "agent.auto_compact.threshold", "+20000, of 80%; always")
    off = Given("pi", "compaction.enabled", False)
    text = written([WINDOW, zed, off])
    assert "," not in text and "+" not in text, "these part labels"
    assert parsed(text) == (WINDOW, zed, off)
    # A number in quotes stays a text, which the agent ignores.
    quoted = Given("claude-code", "autoCompactWindow", "400000")
    assert parsed(written([quoted, WINDOW])) == (quoted, WINDOW)
    assert effect(parsed(written([quoted]))[0]) is None
    assert parsed("") == ()


def test_an_empty_setting_and_half_an_emoji_stand_in_a_label() -> None:
    empty = [Given("claude-code", "DISABLE_COMPACT", ""), Given("codex", "compact_prompt", "")]
    quotes = Given("codex", "compact_prompt", '""')
    assert parsed(written([*empty, quotes])) == (*empty, quotes)
    open_policy(label_of([*empty, Given("codex", "compact_prompt", "\ud83d")]))


def test_what_goes_before_settings_that_are_tried_is_told() -> None:
    variable = Given("claude-code", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", 400_000)
    off = Given("claude-code", "autoCompactEnabled", False)
    of_results = Given("claude-code", "bashOutputMaxChars", 4_000)
    (line,) = hindrances([variable], [WINDOW])
    assert line.startswith("CLAUDE_CODE_AUTO_COMPACT_WINDOW in your settings overrides what was tried.")
    assert "switches compaction off" in hindrances([off], [WINDOW])[0]
    disabled = Given("claude-code", "DISABLE_COMPACT", True)
    # Of what isn't a switch of compaction, and of a switch that is named the other way, false stops nothing.
    for one in (Given("opencode", "compaction.prune", False), Given("crush", "options.disable_auto_summarize", False)):
        assert not hindrances([one], [WINDOW])
    assert hindrances([Given("crush", "options.disable_auto_summarize", True)], [WINDOW])
    assert len(hindrances([disabled], [WINDOW])) == 1 and not hindrances([disabled._replace(value=False)], [WINDOW])
    assert not hindrances([Given("claude-code", "noSuchKey", 1)], [WINDOW])
    assert not hindrances([variable._replace(value="auto"), WINDOW], [WINDOW])
    assert not hindrances([variable, WINDOW], [of_results]) and not hindrances([WINDOW, of_results], [variable])


@pytest.mark.parametrize("text", ["claude-code", "claude-code/x", "/x=1", "claude-code/=1", "claude-code/x="])
def test_what_is_no_setting_is_told(text: str) -> None:
    with pytest.raises(LabelError, match="is not AGENT/KEY=VALUE"):
        parsed(text)


@pytest.mark.parametrize(
    ("agent", "key", "text", "value"),
    [
        ("claude-code", "autoCompactWindow", "150000", 150_000), ("claude-code", "autoCompactWindow", "1.5", "1.5"),
        # Quotes around a number leave; a lone one, and those of a text, stay.
        ("claude-code", "autoCompactWindow", '"15"', "15"), ("claude-code", "autoCompactWindow", '""', ""),
        ("claude-code", "autoCompactWindow", '"', '"'), ("claude-code", "autoCompactWindow", '"15', '"15'),
        ("zed", "agent.auto_compact.threshold", '"80%"', '"80%"'), ("claude-code", "noSuchKey", '"x"', '"x"'),
        ("claude-code", "autoCompactEnabled", "TRUE", True), ("claude-code", "autoCompactEnabled", "1", True),
        ("claude-code", "autoCompactEnabled", "false", False), ("claude-code", "autoCompactEnabled", "0", False),
        ("claude-code", "autoCompactEnabled", "maybe", "maybe"),
        # A thousand where the agent knows that: it fired at 267,000, a window of 300,000 less 33,000.
        ("claude-code", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "300k", 300_000),
        ("claude-code", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "300k", "300k"),
        ("goose", "GOOSE_AUTO_COMPACT_THRESHOLD", "0.5", 0.5), ("goose", "GOOSE_AUTO_COMPACT_THRESHOLD", "x", "x"),
    ],
)  # fmt: skip
def test_a_text_is_of_its_settings_type(agent: str, key: str, text: str, value: bool | int | float | str) -> None:
    found = typed(agent, key, text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("key", "value", "used"),
    [
        ("autoCompactWindow", 150_000, 150_000),
        ("autoCompactWindow", 50_000, None),  # outside its bounds it is ignored in silence
        ("autoCompactWindow", "150000", None),  # a number in quotes too
        ("autoCompactWindow", "auto", None),  # a word that means the default
        ("autoCompactWindow", True, None),
        ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", 50_000, 100_000),  # the variable is clamped
        ("noSuchKey", 1, None),
    ],
)
def test_an_agent_uses_what_its_bounds_allow(key: str, value: int | str, used: int | None) -> None:
    assert effect(Given("claude-code", key, value), "2.1.330", "claude-opus-5-5") == used


def test_what_was_seen_ignored_has_no_effect() -> None:
    cut = Given("claude-code", "bashOutputMaxChars", 4_000)
    assert effect(cut, "2.1.197", "claude-opus-5-5") is None and effect(cut, "2.1.330", "claude-opus-5-5") == 4_000


@pytest.mark.parametrize(
    ("settings", "version", "model", "threshold"),
    [
        # Alone it does nothing for Sonnet 4.5. With a window: (200,000 - 20,000) x .5; 89,100 was still sent.
        ("", "2.1.330", "claude-sonnet-4-5-20250929", None),
        ("claude-code/autoCompactWindow=200000;", "2.1.330", "claude-sonnet-4-5-20250929", 90_000),
        # The verdict on another model says nothing of this one, also of no version: 180,000 x .5.
        ("", "", "claude-opus-5-5", 90_000),
    ],
)
def test_a_share_of_the_window_is_honoured_where_the_policy_has_a_threshold(
    settings: str, version: str, model: str, threshold: int | None
) -> None:
    label = f"as-set:given={settings}claude-code/CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"
    (policy,) = open_policy(label).as_shipped("claude-code", version, model).create()
    policy.attach(Surroundings(200_000))
    assert policy.fires_at() == threshold


def test_what_has_a_cap_only_lowers() -> None:
    def cut(text: str) -> str | None:
        return parameters_of("claude-code", parsed(text), "2.1.330").get("bash_output_max_chars")

    # 128,000 still cuts 50,000, as its 30,000 do.
    of_both = "claude-code/BASH_MAX_OUTPUT_LENGTH={};claude-code/bashOutputMaxChars={}"
    assert cut("claude-code/BASH_MAX_OUTPUT_LENGTH=128000") == "30000"
    assert cut(of_both.format(128_000, 10_000)) == "10000" and cut(of_both.format(4_000, 10_000)) == "4000"


def test_the_greater_precedence_holds_and_of_equals_the_last() -> None:
    variable = Given("claude-code", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", 200_000)
    of_model = Given("claude-code", "modelSettings.claude-opus-4-6.autoCompactWindow", 300_000)

    def window(*given: Given, model: str = "claude-opus-4-6") -> str | None:
        return parameters_of("claude-code", given, "2.1.330", model).get("auto_compact_window")

    assert window(variable, WINDOW) == window(WINDOW, variable) == "200000"
    assert window(of_model, WINDOW) == "300000"
    assert window(of_model, WINDOW, model="claude-haiku-4-5") == "150000", "another model's"
    assert window(of_model, WINDOW, model="") == "150000", "of no model it isn't known"
    assert window(WINDOW, WINDOW._replace(value=250_000)) == "250000"
    assert parameters_of("codex", [WINDOW]) == {}


def test_a_switch_that_turns_off_is_the_opposite() -> None:
    off = Given("claude-code", "DISABLE_COMPACT", True)
    assert parameters_of("claude-code", [off], "2.1.330") == {"auto_compact_enabled": "False"}


def test_files_of_every_format(tmp_path: Path) -> None:
    files = {
        ".claude/settings.json": '{"autoCompactWindow": 150000, "env": {"DISABLE_COMPACT": "1"}, "model": "x"}',
        ".codex/config.toml": "model_auto_compact_token_limit = 90000\n[features]\nx = 1\n",
        ".config/goose/config.yaml": "GOOSE_AUTO_COMPACT_THRESHOLD: 0.5\n",
        ".config/opencode/opencode.json": '{ // mine\n "compaction": {"prune": true, /* no, */}, "a": "//b",\n'
        '"provider": {"x": {"models": {"y": {"limit": {"input": 9000}}}}}}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [one for name in files for one in of_file(tmp_path / name)]
    assert found == [
        WINDOW, Given("claude-code", "DISABLE_COMPACT", True),
        Given("codex", "model_auto_compact_token_limit", 90_000),
        Given("goose", "GOOSE_AUTO_COMPACT_THRESHOLD", 0.5),
        Given("opencode", "compaction.prune", True), Given("opencode", "provider.x.models.y.limit.input", 9_000),
    ]  # fmt: skip


def test_a_projects_file_goes_after_the_users_and_variables_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place, window in (("home", 150_000), ("project", 250_000)):
        (tmp_path / place / ".claude").mkdir(parents=True)
        (tmp_path / place / ".claude/settings.json").write_text(f'{{"autoCompactWindow": {window}}}')
    assert of_places() == [WINDOW]
    variables = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "300000", "PATH": "/bin"}
    found = [*of_places(tmp_path / "project"), *_of_variables("claude-code", variables)]
    assert [one.value for one in found] == [150_000, 250_000, 300_000]
    assert parameters_of("claude-code", found)["auto_compact_window"] == "300000"
    # What is only this machine's goes before what the project shares.
    (tmp_path / "project/.claude/settings.local.json").write_text('{"autoCompactWindow": 275000}')
    assert [one.value for one in of_places(tmp_path / "project")] == [150_000, 250_000, 275_000]


def test_the_shells_variables_are_settings_but_where_a_file_sets_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "70")
    monkeypatch.setenv("AIDER_MAX_CHAT_HISTORY_TOKENS", "9000")
    (tmp_path / ".aider.conf.yml").write_text("max-chat-history-tokens: 4000\n")
    found = of_places()
    assert Given("claude-code", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", 70) in found
    # Aider's variable goes before its file, as the agent has it.
    assert parameters_of("aider", found)["max_chat_history_tokens"] == "9000"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "55"}}')
    assert [one.value for one in of_places() if one.agent == "claude-code"] == [55], "Claude Code sets it itself then"


def test_the_folder_that_an_agents_variable_names_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "own"))
    for place, window in (("home/.claude", 250_000), ("own", 150_000)):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "settings.json").write_text(f'{{"autoCompactWindow": {window}}}')
    assert of_places() == [WINDOW]
    assert change("claude-code", {"autoCompactWindow": 200_000})[0].path == tmp_path / "own" / "settings.json"


def test_time_is_linear_in_a_text_and_a_comment_without_an_end() -> None:
    began = time.process_time()
    for text in ('"' + '\\"' * 100_000, "/* " * 100_000):
        assert without_comments(text) == text
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (".claude/settings.json", '{"autoCompactWindow": ', "can't be read as json"),
        (".codex/config.toml", "a = = b", "is no TOML"),
        (".config/goose/config.yaml", "a: [", "can't be read as yaml"),
        ("other.json", "{}", "sets nothing of an agent that we know"),
        ("other.ini", "", "sets nothing of an agent that we know"),
    ],
)
def test_a_file_that_says_nothing_is_told_in_a_line(tmp_path: Path, name: str, text: str, told: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    with pytest.raises(InputError, match=told):
        of_file(file)


def test_a_file_of_an_agent_may_set_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".claude/settings.json"
    file.parent.mkdir()
    for text in ("", "{}", '{"model": "x"}', "[1]"):
        file.write_text(text)
        assert of_file(file) == []


def test_lines_to_paste_are_in_the_files_own_format(tmp_path: Path) -> None:
    assert lines([WINDOW]) == {"~/.claude/settings.json": ['  "autoCompactWindow": 150000']}
    codex = Given("codex", "model_auto_compact_token_limit", 150_000)
    assert lines([codex]) == {"~/.codex/config.toml": ["model_auto_compact_token_limit = 150000"]}
    goose = Given("goose", "GOOSE_AUTO_COMPACT_THRESHOLD", 0.5)
    assert lines([goose]) == {"~/.config/goose/config.yaml": ["GOOSE_AUTO_COMPACT_THRESHOLD: 0.5"]}
    assert lines([Given("opencode", "OPENCODE_DISABLE_PRUNE", True)]) == {ENV: ["export OPENCODE_DISABLE_PRUNE=true"]}
    kimi = Given("kimi-cli", "loop_control.compaction_trigger_ratio", 0.6)
    assert lines([kimi]) == {"~/.kimi/config.toml": ["loop_control.compaction_trigger_ratio = 0.6"]}
    kimi = Given("kimi-code", "loop_control.reserved_context_size", 100_000)
    assert lines([kimi]) == {"~/.kimi-code/config.toml": ["loop_control.reserved_context_size = 100000"]}
    trigger = Given("langchain", "SummarizationMiddleware.trigger", 40_000)
    keep = Given("langchain", "SummarizationMiddleware.keep", 10)
    assert constructors([trigger, keep]) == [
        'SummarizationMiddleware(trigger=("tokens", 40000), keep=("messages", 10))'
    ]
    assert lines([trigger, keep]) == {"code": constructors([trigger, keep])}
    assert policy_label(trigger, keep) == "langchain-summarize:trigger=40000,keep=10"


def test_a_setting_is_pasted_where_it_is_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_project = tmp_path / ".claude" / "settings.json"
    local = of_project.with_name("settings.local.json")
    of_project.parent.mkdir()
    # The file for oneself goes before the shared one, once it sets the key.
    for text, file in (("{}", of_project), ('{"autoCompactWindow": 400000}', local)):
        local.write_text(text)
        assert lines([WINDOW], tmp_path) == {str(file): ['  "autoCompactWindow": 150000']}
        assert change("claude-code", {WINDOW.key: WINDOW.value}, project=tmp_path)[0].path == file
    # What a file's table of variables says goes before the shell.
    off = Given("claude-code", "DISABLE_COMPACT", True)
    assert lines([off]) == {"~/.claude/settings.json": ['  "env": {', '    "DISABLE_COMPACT": "true"', "  }"]}
    assert json.loads(change("claude-code", {off.key: off.value}, project=tmp_path)[0].after) == {
        "env": {"DISABLE_COMPACT": "true"}
    }
    assert where("claude-code", "DISABLE_COMPACT") == "env of ~/.claude/settings.json"
    assert [*lines([Given("codex", "tool_output_token_limit", 1_000)], tmp_path)] == ["~/.codex/config.toml"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "mine"))
    (changed,) = change("claude-code", {WINDOW.key: WINDOW.value})
    assert [*lines([WINDOW])] == [str(changed.path)] == [str(tmp_path / "mine" / "settings.json")]


def test_a_variable_of_another_name_than_its_key_is_written_and_found_under_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "read_on = '2026-11-26'\n"
        "files = [{ path = '~/.mine/s.json', env = 'vars' }, { path = '.mine/s.json', env = 'vars' },"
        " { path = '.mine/t.json', env = 'vars' }]\n"
        "[setting.compactAt]\nenv = 'MINE_AT'\nsource = 's'\n"
    )
    mine = parsed_settings("mine", text, "mine/settings.toml")
    for module in ("given", "lines", "config"):
        monkeypatch.setattr(f"ctxsim.policies.agents.{module}.settings_of", lambda agent: mine)
    monkeypatch.setattr("ctxsim.policies.agents.given.settings_names", lambda: ["mine"])
    given = Given("mine", "compactAt", 9)
    assert lines([given]) == {"~/.mine/s.json": ['  "vars": {', '    "MINE_AT": "9"', "  }"]}
    (tmp_path / ".mine").mkdir()
    for name, holds in (("s", "{}"), ("t", '{"vars": {"MINE_AT": "7"}}')):
        (tmp_path / ".mine" / f"{name}.json").write_text(holds)
        (wanted,) = change("mine", {"compactAt": 9}, project=tmp_path)
        assert (wanted.path.stem, json.loads(wanted.after)) == (name, {"vars": {"MINE_AT": "9"}})


@pytest.mark.parametrize("agent", settings_names())
def test_what_is_advised_is_read_back_from_the_lines(agent: str, tmp_path: Path) -> None:
    """Whatever value is tried, pasted into the file it stands in, is what the agent's file then says."""
    for one in begin(agent):
        file, text = next(iter(lines([one]).items()))
        if file in (ENV, "code"):
            continue
        place = tmp_path / file.removeprefix("~/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{" + "\n".join(text) + "}" if place.suffix == ".json" else "\n".join(text))
        assert of_file(place) == [one]
        assert where(agent, one.key) == (f"env of {file}" if '"env"' in text[0] else file)


@pytest.mark.parametrize("agent", settings_names())
def test_values_that_are_tried_are_within_bounds(agent: str) -> None:
    """A value that the agent clamps or ignores is never advised: none is tried, at the beginning or later."""
    for setting in searched(agent):
        first = [one for one in begin(agent) if one.key == setting.key]
        later = [near for one in first for near in around(one, [other.value for other in first])]
        for one in (*first, *later):
            assert not setting.problem(one.value) and one.value not in setting.words
            assert setting_of(agent, one.key) is setting
        assert not {one.value for one in later} & {one.value for one in first}


def test_labels_of_what_is_set_and_what_is_tried() -> None:
    assert label_of([]) == "as-set"
    cut = Given("claude-code", "bashOutputMaxChars", 10_000)
    given = label_of([WINDOW], [WINDOW._replace(value=200_000), cut])
    assert given == "as-set:given=claude-code/autoCompactWindow=200000;claude-code/bashOutputMaxChars=10000"
    assert [one.value for one in usual("claude-code")] == [150_000, 200_000, 300_000]
    assert usual("copilot-cli") == []
