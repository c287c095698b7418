"""What users of agents can set: each file, its agreement with the policies, lookups by version, what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import ctxsim as command

import ctxsim
from ctxsim.answers.bill import status
from ctxsim.errors import InputError, LabelError, UnknownName
from ctxsim.plugins import labels
from ctxsim.policies import open_policy, registered_policies
from ctxsim.policies.agents.settings import CODE, Rule, Setting
from ctxsim.policies.agents.settings_file import aliases_of, parsed, settings_names, settings_of, values_for
from ctxsim.policies.agents.versions import holds, numbers_of, order_of

AGENTS = (
    "aider", "claude-code", "cline", "codex", "continue-cli", "copilot-cli", "crush", "gemini-cli", "goose",
    "kilo-code", "kimi-cli", "kimi-code", "mistral-vibe", "opencode", "openhands", "pi", "qwen-code",
    "roo-code", "swe-agent", "zed",
)  # fmt: skip
FRAMEWORKS = ("adk", "agent-framework", "langchain", "openai-agents", "openhands-sdk", "pydantic-ai", "strands")


def test_the_agents_and_frameworks_that_people_set_are_there() -> None:
    assert settings_names() == [*AGENTS, *FRAMEWORKS]
    assert sum(len(settings_of(name).settings) for name in AGENTS) >= 60
    assert settings_of("openhands-sdk") != settings_of("openhands"), "the framework's own, not the agent's"


@pytest.mark.parametrize("agent", (*AGENTS, *FRAMEWORKS))
def test_a_file_agrees_with_the_policies(agent: str) -> None:
    known = settings_of(agent)
    for entry in known.entries:
        assert entry.source, entry.key
        if entry.parameter:
            cls = registered_policies()[entry.policy or agent]
            assert cls.agent == agent, "or a label's version= is unknown to it"
            fields = {labels.key(field): field for field in dataclasses.fields(cls)}
            assert entry.parameter in fields, f"{entry.key}: no parameter {entry.parameter}"
            given = entry.given()
            assert given is None or fields[entry.parameter].default == given, f"{entry.key}: a number stands twice"
        for rule in entry.default if isinstance(entry, Setting) else ():
            assert not entry.problem(rule.value), entry.key
        if isinstance(entry, Setting) and agent in FRAMEWORKS:
            assert entry.file == CODE


@pytest.mark.parametrize(
    ("conditions", "version", "met"),
    [
        ("", "1", True), (">=2.1.153", "2.1.153", True), (">=2.1.153", "2.1.152", False),
        (">=2.1.153", "2.1.1530", True), ("<2.1.9", "2.1.10", False), ("==2.1", "2.1.0", True),
        (">=2.1,<3", "2.9.9", True), (">=2.1,<3", "3.0", False), (">=9", "", True), ("<=2.1.19", "", False),
        (">1.2", "v1.2.1-beta.3", True),
    ],
)  # fmt: skip
def test_conditions_on_versions(conditions: str, version: str, met: bool) -> None:
    assert holds(conditions, version) is met


def test_what_is_no_version_or_condition_is_told() -> None:
    assert numbers_of("v2.1.0-rc1") == (2, 1)
    order = ["1.0", "1.0.64-1", "1.0.64-2", "1.0.64-10", "1.0.64-alpha.9", "1.0.64-beta", "v1.0.64", "1.0.100-1+b-2"]
    assert sorted(order, key=order_of) == order == sorted({*order}, key=order_of)
    for wrong in ("abc", "-1", "v"):
        with pytest.raises(ValueError, match="is no version"):
            numbers_of(wrong)
    with pytest.raises(ValueError, match=r"'~2\.1' is no condition"):
        holds(">=1,~2.1", "2")


SONNET_45, OPUS_5_1M = "claude-sonnet-4-5-20250929", "claude-opus-5[1m]"


def test_claude_codes_numbers_by_version_and_model() -> None:
    def numbers(version: str, model: str = "") -> tuple[int, bool]:
        found = values_for("claude-code", version, model)
        return found["reserve"], found["proactive"]

    # 200,000 - 32,000 - 13,000 was seen up to 2.1.19, 200,000 - 20,000 - 13,000 from 2.1.25 on.
    assert numbers("2.1.19") == (32_000, True) and numbers("2.1.25") == (20_000, True)
    # Brackets in a pattern are brackets: Opus 5[1m] is not Opus 51.
    assert numbers("2.1.221", OPUS_5_1M) == (20_000, False) and numbers("2.1.221", "claude-opus-51") == (20_000, True)
    # No version is the newest, and so is one that is newer than all rules.
    assert values_for("claude-code", "", SONNET_45) == values_for("claude-code", "99.1", SONNET_45)
    assert numbers("", SONNET_45) == (20_000, False)


VERSIONS = ("2.1.152", "2.1.153", "2.1.163", "2.1.217", "2.1.284", "2.1.285", "2.1.332")


@pytest.mark.parametrize(("model", "tokens"), [
    ("gpt-5", 272_000), ("openai/gpt-5.1-codex", 272_000), ("gpt-5.3-codex-spark", 0), ("gpt-5-chat-latest", 0),
    ("gpt-5.4", 922_000), ("gpt-5.4-mini", 272_000), ("gpt-5.6-sol", 922_000), ("gpt-4.1", 0),
])  # fmt: skip
def test_cline_and_opencode_have_the_same_list_of_inputs(model: str, tokens: int) -> None:
    assert values_for("cline", model=model)["max_input_tokens"] == tokens
    assert values_for("opencode", model=model)["input"] == tokens


@pytest.mark.parametrize(
    ("model", "fires"),
    # Installed versions, run without a window that is set.
    [(SONNET_45, "y......"), ("claude-opus-4-5-20251101", "y......"), ("claude-sonnet-4-20250514", "y......"),
     ("claude-3-7-sonnet-20250219", "y......"), ("claude-sonnet-4-5-20250929[1m]", "y......"),
     ("claude-opus-4-6", "y.yyyyy"), ("claude-sonnet-4-6", "y.yyyyy"), ("claude-opus-4-6[1m]", "y......"),
     ("claude-sonnet-4-6[1m]", "y......"), ("claude-opus-4-7", "y....yy"), ("claude-opus-4-8", "y..yyyy"),
     ("claude-opus-4-8[1m]", "y....yy"), (OPUS_5_1M, "y....yy"), ("claude-fable-5-1", "y....yy")],
)  # fmt: skip
def test_which_versions_compact_before_a_refusal(model: str, fires: str) -> None:
    found = (values_for("claude-code", version, model)["proactive"] for version in VERSIONS)
    assert "".join("y" if one else "." for one in found) == fires
    for version, fired in zip(VERSIONS, fires, strict=True):
        said = {"version": version, "model": {"id": model}}
        assert status._proactive(said) is (fired == "y"), "the status line has the same rules"


def test_the_verdict_on_a_setting_is_that_of_a_version() -> None:
    (setting,) = (one for one in settings_of("claude-code").settings if one.key == "bashOutputMaxChars")
    assert setting.verdict().verdict == "honoured" and setting.verdict("2.1.197").verdict == "ignored"
    assert setting.verdict("2.1.198").verdict == "not yet seen" and setting.verdict("2.1.7").verdict == "ignored"


def test_a_label_takes_a_version_and_a_model() -> None:
    assert (
        open_policy("claude-code:version=2.1.19").short
        == "claude-code:reserve=32000,tail_factor=1,micro=size,keep_exchanges=0"
    )
    assert (
        open_policy("claude-code:version=2.1.19,reserve=1").short
        == "claude-code:reserve=1,tail_factor=1,micro=size,keep_exchanges=0"
    )
    assert open_policy(f"claude-code:version=2.1.330,model={SONNET_45}").short == "claude-code:proactive=False"
    assert open_policy("claude-code:version=2.1.330").label == open_policy("claude-code").label
    for label, said in (
        ("claude-code:version=new", "version=new: 'new' is no version"),
        ("langmem:version=1.0", "langmem: unknown parameter 'version'"),
        ("mask:version=1.0", "mask: unknown parameter 'version'"),
    ):
        with pytest.raises((LabelError, UnknownName), match=said):
            open_policy(label)


def test_a_label_takes_the_agents_own_names() -> None:
    for given, ours in (
        ("qwen-code:context.autoCompactThreshold=0.5", "qwen-code:auto_compact_threshold=0.5"),
        ("claude-code:autoCompactWindow=150000", "claude-code:auto_compact_window=150000"),
        ("claude-code:CLAUDE_CODE_AUTO_COMPACT_WINDOW=150000", "claude-code:auto_compact_window=150000"),
        ("langchain-clear:ClearToolUsesEdit.keep=1", "langchain-clear:keep=1"),
        ("opencode:tail=100", "opencode:preserve_recent_tokens=100"),
    ):
        assert open_policy(given).short == ours
    assert labels.named("qwen-code:context.autoCompactThreshold=0.5")[0] == "qwen-code"
    assert "DISABLE_COMPACT" not in aliases_of("claude-code", "claude-code"), "its true is the parameter's false"
    with pytest.raises(LabelError, match=r"compaction\.reserved is the agent's own name for reserved"):
        open_policy("opencode:compaction.reserved=1,reserved=2")


ENTRY = '[setting."a.b"]\nfile = "code"\nsource = "s"\ntype = "int"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("key =", "x.toml: is no TOML: Invalid value"),
        ("setting = [1]", r"Expected `object`, got `array` - at `\$.setting`"),
        ("files = [{ path = '~/.x/x.env', format = 'env' }]", r"Invalid enum value 'env' - at `\$.format`"),
        (ENTRY.replace('"int"', '"whole"'), r"setting a.b: Invalid enum value 'whole' - at `\$.type`"),
        (ENTRY + "bound = [1, 2]", r"setting a.b: Object contains unknown field `bound`"),
        (ENTRY + "bounds = [1, 2]\ndefault = 3", "a.b, default: 3 is outside 1 to 2"),
        (ENTRY + "default = true", "a.b, default: True is no int"),
        (ENTRY + "default = 'auto'", "a.b, default: 'auto' is no int"),
        (ENTRY + "default = [{ value = 1, versions = '2.1' }]", "a.b, versions: '2.1' is no condition"),
        (ENTRY + "honoured = [{ verdict = 'never', versions = 'x' }]", "a.b, honoured: 'x' is no condition"),
        (ENTRY.replace('"code"', '"home.json"'), "a.b, file: no path in files ends with home.json"),
        (ENTRY.replace('source = "s"\n', ""), r"setting a.b: Object missing required field `source`"),
        (ENTRY + "choices = ['a']", "a.b, choices: stand with type choice"),
        (ENTRY + "opposite = true", "a.b, opposite: stands with type bool"),
        ("".join(entry + "default = 1\nparameter = 'p'\n" for entry in (ENTRY, ENTRY.replace("a.b", "c"))),
         "c, default: another entry gives p a value"),
        (ENTRY + "unset = 0\ndefault = 3", "setting a.b: has both 'unset' and 'default'; delete one"),
        (ENTRY + "[classes.a]\npolicy = 'p'\narguments.b = {}",
         r"setting a.b: is also an argument of classes\.a; delete one"),
    ],
)  # fmt: skip
def test_a_file_that_cant_be_used_is_one_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        parsed("x", f'read_on = "2026-11-23"\n{text}', "x.toml")
    assert str(raised.value).startswith("x.toml") and "\n" not in str(raised.value)


def test_an_entry_takes_what_the_file_says_of_all() -> None:
    head = 'read_on = "d"\nsource = "s"\n'
    files = '[[files]]\npath = "~/.x/home.json"\n[[files]]\npath = ".x/set.yml"\n'
    keys = '[setting.size]\n[setting.OVER]\nenv = true\n[setting.own]\nsource = "u"\nfile = "code"\nunset = 7\n'
    classes = '[classes.A]\npolicy = "p"\nsource = "t"\narguments.size = { default = 3, policy = "q" }\n'
    found = parsed("x", head + files + keys + classes, "x.toml")
    assert [(one.format, one.scope) for one in found.files] == [("json", "user"), ("yaml", "project")]
    assert [(one.key, one.env, one.policy, one.parameter, one.source, one.file) for one in found.settings] == [
        ("size", "", "", "", "s", "home.json"), ("OVER", "OVER", "", "", "s", ""), ("own", "", "", "", "u", "code"),
        ("A.size", "", "q", "size", "t", "home.json"),
    ]  # fmt: skip
    assert [one.default for one in found.settings] == [(), (), (Rule("unset", as_parameter=7),), (Rule(3),)]
    assert {one.file for one in parsed("x", head + keys, "x.toml").settings} == {"code", ""}


@pytest.mark.parametrize(
    ("kind", "outside", "value", "taken"),
    [
        ("int", "clamped", 9, 10), ("int", "clamped", 10, 10), ("int", "clamped", 31, 30), ("int", "ignored", 9, None),
        ("ratio", "clamped", 9.5, 10.0), ("ratio", "clamped", 12.5, 12.5), ("int", "clamped", "x", None),
        ("int", "clamped", "unset", "unset"),
    ],
)  # fmt: skip
def test_what_is_outside_bounds(kind: Any, outside: Any, value: float | str, taken: float | str | None) -> None:
    setting = Setting(key="k", source="s", type=kind, outside=outside, bounds=(10.0, 30.0))
    found = setting.taken(value)
    assert found == taken and type(found) is type(taken)


def test_what_is_wrong_with_a_value() -> None:
    choice = Setting(key="k", source="s", type="choice", choices=("a", "b"))
    assert choice.problem("a") == "" and choice.problem("c") == "'c' is none of a, b"
    whole = Setting(key="k", source="s", bounds=(1, 2), words=("auto",))
    said = [whole.problem(value) for value in (1, 2, 3, 0, True, 1.5, "auto", "unset", "x")]
    assert said == [
        "", "", "3 is outside 1 to 2", "0 is outside 1 to 2", "True is no int", "1.5 is no int", "", "",
        "'x' is no int",
    ]  # fmt: skip


def test_tokens_are_the_unit_of_what_is_a_whole_number() -> None:
    settings = "".join(
        f'[setting.k{n}]\nsource = "s"\n{more}\n'
        for n, more in enumerate(("", 'type = "int"', 'type = "ratio"', 'unit = "chars"'))
    )
    found = parsed("x", f'read_on = "d"\n{settings}[number.n]\nsource = "s"', "x.toml")
    assert [one.unit for one in found.entries] == ["tokens", "tokens", "", "chars", ""]


def test_a_name_that_no_agent_has_is_told_with_a_close_one() -> None:
    with pytest.raises(UnknownName, match="did you mean zed"):
        settings_of("zedd")


def test_the_list_tells_both_names_and_fits_the_terminal(tmp_path: Path) -> None:
    told = command("list", "settings", "qwen-code", cwd=tmp_path).stdout
    assert "context.autoCompactThreshold = 0.85\n" in told and "policy: qwen-code:auto_compact_threshold\n" in told
    assert "installed: honoured (==0.24.4" in told and "reserved for the summary = 20,000\n" in told
    (table,) = json.loads(command("list", "settings", "pi", "--format", "json", cwd=tmp_path).stdout)["tables"]
    assert {row["agent"] for row in table["rows"]} == {"pi"}, "a name said whole is no part of another"
    frame = ctxsim.settings("pi").frame()
    assert table["rows"] == json.loads(frame.to_json(orient="records"))
    assert set(ctxsim.settings("*threshold*").frame().agent) > {"goose", "gemini-cli", "zed"}
