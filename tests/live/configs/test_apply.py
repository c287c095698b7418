"""Files of agents that are changed and restored: to the byte, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxsim.api.applying import apply, change, undo
from ctxsim.errors import CtxsimError
from ctxsim.live.configs.apply import MOST_BYTES, Change, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, also for what ctxsim keeps."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    return tmp_path


def config(home: Path, text: str = '{\n  "theme": "dark" // mine\n}\n') -> Path:
    file = home / ".claude/settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def test_the_change_is_shown_and_nothing_is_written(home: Path) -> None:
    new = change("claude-code", {"autoCompactWindow": 250_000})[0].diff.splitlines()
    file = config(home)
    assert new[:2] == ["--- /dev/null", f"+++ {file}"]
    before = file.read_bytes()
    assert change("claude-code", {"autoCompactWindow": 250_000})[0].diff.splitlines()[0] == f"--- {file}"
    assert (
        '+  "autoCompactWindow": 250000,' in change("claude-code", {"autoCompactWindow": 250_000})[0].diff.splitlines()
    )
    assert apply("claude-code", {"autoCompactWindow": 250_000}, agreed=lambda wanted: False) == ()
    assert file.read_bytes() == before


def test_what_is_applied_is_undone_byte_for_byte(home: Path) -> None:
    file = config(home)
    file.chmod(0o640)
    before = file.read_bytes()
    (done,) = apply("claude-code", {"autoCompactWindow": 250_000})
    assert Path(done.backup).read_bytes() == before and Path(done.backup).name == "0001-1.backup"
    assert b'"autoCompactWindow": 250000' in file.read_bytes()
    assert b"// mine" in file.read_bytes()
    kept = (file, Path(done.backup), Path(done.backup).with_name("0001.json"))
    assert [one.stat().st_mode & 0o777 for one in kept] == [0o640, 0o600, 0o600]
    undo()
    assert file.read_bytes() == before
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(CtxsimError, match="nothing was applied"):
        undo()


def test_several_changes_are_undone_from_the_last_one_on(home: Path) -> None:
    file = config(home)
    states = [file.read_bytes()]
    for window in (100_000, 200_000, 300_000):
        (done,) = apply("claude-code", {"autoCompactWindow": window})
        assert Path(done.backup).name == f"{window // 100_000:04}-1.backup"
        states.append(file.read_bytes())
    # The last is number 10,000, and the one before 9,999.
    records = home / ".config/ctxsim/applied"
    (records / "0003.json").rename(records / "10000.json")
    (records / "0002.json").rename(records / "9999.json")
    for state in reversed(states[:-1]):
        undo()
        assert file.read_bytes() == state


def test_settings_written_together_are_undone_together(home: Path) -> None:
    config(home, "{}\n")
    file, project = home / ".claude/settings.json", home / "work/.claude/settings.json"
    both = {"autoCompactWindow": 250_000, "DISABLE_COMPACT": True}
    (done,) = apply("claude-code", both)
    assert json.loads(file.read_text()) == {"autoCompactWindow": 250_000, "env": {"DISABLE_COMPACT": "true"}}
    assert undo() == (done,) and file.read_text() == "{}\n"
    # In two files: the project's file of the key that it sets, and the project's first file.
    local = config(home / "work", '{"autoCompactWindow": 400000}').rename(project.with_name("settings.local.json"))
    asked: list[Any] = []
    assert len(apply("claude-code", both, project=home / "work", agreed=lambda all: not asked.append(all))) == 2
    assert [one.path for one in asked[0]] == [local, project]
    project.write_text("{}")
    with pytest.raises(CtxsimError, match="edited or removed after ctxsim wrote it, so nothing was undone"):
        undo()
    assert "250000" in local.read_text(), "all files or none"
    project.unlink()
    undo()
    assert local.read_text() == '{"autoCompactWindow": 400000}' and not project.exists()
    with pytest.raises(CtxsimError, match="nothing was applied"):
        undo()


def test_of_settings_written_together_all_are_written_or_none(home: Path) -> None:
    file = config(home, "{}\n")
    with pytest.raises(CtxsimError, match="outside 100000"):
        apply("claude-code", {"DISABLE_COMPACT": True, "autoCompactWindow": 5})
    assert file.read_text() == "{}\n"


def test_where_one_file_cannot_be_written_all_are_as_they_were(home: Path) -> None:
    old, new, after = home / "old.json", home / "new.json", home / "a file" / "x.json"
    old.write_text("{}\n")
    (home / "a file").write_text("")
    with pytest.raises(OSError, match="a file"):
        write([Change(old, b"{}\n", b"1"), Change(new, None, b"2"), Change(after, None, b"3")])
    assert old.read_text() == "{}\n" and not new.exists()
    assert not any((home / ".config" / "ctxsim" / "applied").iterdir())


def test_links_that_lead_in_a_circle_are_told(home: Path) -> None:
    file = config(home)
    file.unlink()
    file.symlink_to(file)
    with pytest.raises(CtxsimError, match=r"settings\.json: it is a link that leads in a circle"):
        apply("claude-code", {"autoCompactWindow": 250_000})
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(file.parent)
    with pytest.raises(OSError, match=r"\.claude"):
        apply("claude-code", {"autoCompactWindow": 250_000})
    with pytest.raises(CtxsimError, match="nothing was applied"):
        undo()


def test_a_file_that_was_not_there_goes_again(home: Path) -> None:
    (done,) = apply("codex", {"model_auto_compact_token_limit": 150_000})
    file = home / ".codex/config.toml"
    assert file.read_text() == "model_auto_compact_token_limit = 150000\n" and file.stat().st_mode & 0o777 == 0o600
    assert (done.path, done.backup) == (str(file), "")
    assert undo() == (done,)
    assert not file.exists() and not any(file.parent.iterdir())


def test_a_file_that_somebody_has_removed_is_undone_too(home: Path) -> None:
    apply("codex", {"model_auto_compact_token_limit": 150_000})
    (home / ".codex" / "config.toml").unlink()
    undo()
    with pytest.raises(CtxsimError, match="nothing was applied"):
        undo()


@pytest.mark.parametrize("more", [0, 1])
def test_a_file_of_a_megabyte_is_written_and_a_byte_more_is_not(home: Path, more: int) -> None:
    file = config(home, "{}\n//" + "x" * (MOST_BYTES - 5 + more))
    if more:
        with pytest.raises(CtxsimError, match=r"it has more than 1,048,576 bytes; set it by hand"):
            apply("claude-code", {"autoCompactWindow": 250_000})
    else:
        apply("claude-code", {"autoCompactWindow": 250_000})
        assert '"autoCompactWindow": 250000' in file.read_text()


def test_a_file_that_was_changed_since_is_left_alone(home: Path) -> None:
    file = config(home)
    apply("claude-code", {"autoCompactWindow": 250_000})
    file.write_text("{}")
    with pytest.raises(CtxsimError, match="edited or removed after ctxsim wrote it, so nothing was undone; the copy"):
        undo()
    assert file.read_text() == "{}"


def test_a_file_that_changes_while_somebody_is_asked_is_left_alone(home: Path) -> None:
    file = config(home)

    def agreed(wanted: object) -> bool:
        file.write_text('{"other": 1}')
        return True

    with pytest.raises(CtxsimError, match="changed meanwhile"):
        apply("claude-code", {"autoCompactWindow": 250_000}, agreed=agreed)
    assert file.read_text() == '{"other": 1}'


def test_a_link_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}\n")
    link = home / ".claude/settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    apply("claude-code", {"autoCompactWindow": 250_000})
    assert link.is_symlink()
    undo()
    assert link.is_symlink() and real.read_text() == "{}\n"


@pytest.mark.parametrize(
    ("agent", "key", "value", "said"),
    [
        ("claude-code", "autoCompactWindow", 50_000, "outside 100000 to 1e"),
        ("claude-code", "autoCompactWindow", "150000", "is no int"),
        ("claude-code", "autoCompactWindo", 150_000, "has no setting"),
        ("opencode", "OPENCODE_DISABLE_PRUNE", True, "export OPENCODE_DISABLE_PRUNE=true"),
        ("opencode", "provider.ID.models.ID.limit.input", 9, "write names in the place of ID"),
        ("continue-cli", "defaultCompletionOptions.contextLength", 9, "an entry of the list models"),
    ],
)
def test_what_cannot_be_applied_is_told(home: Path, agent: str, key: str, value: Any, said: str) -> None:
    with pytest.raises(CtxsimError, match=said):
        apply(agent, {key: value})


@pytest.mark.parametrize(
    ("data", "said"), [(b'{"a": ', "read as json"), (b"\xff\xfe{}", "no UTF-8"), (b"[]", "not a table")]
)
def test_a_file_that_is_not_what_it_should_be_is_left_alone(home: Path, data: bytes, said: str) -> None:
    file = config(home)
    file.write_bytes(data)
    with pytest.raises(CtxsimError, match=said):
        apply("claude-code", {"autoCompactWindow": 250_000})
    assert file.read_bytes() == data


def test_names_stand_in_the_place_of_wild_parts(home: Path) -> None:
    apply("opencode", {"provider.mine.models.small-1.5.limit.input": 90_000})
    text = (home / ".config/opencode/opencode.json").read_text()
    assert json.loads(text)["provider"]["mine"]["models"]["small-1.5"]["limit"]["input"] == 90_000


def test_a_project_has_a_file_of_its_own(home: Path) -> None:
    apply("claude-code", {"autoCompactWindow": 250_000}, project=home / "work")
    assert json.loads((home / "work/.claude/settings.json").read_text()) == {"autoCompactWindow": 250_000}


WORDS = st.text("abcxyz_-", min_size=1, max_size=8)
VALUES = st.one_of(
    st.booleans(), st.integers(-9999, 9999), st.text("abc xyz#/", max_size=10), st.lists(st.integers(0, 9))
)
TREES = st.dictionaries(WORDS, st.one_of(VALUES, st.dictionaries(WORDS, VALUES, max_size=3)), max_size=6)
TRIED = [
    ("claude-code", "autoCompactWindow", 250_000, ".claude/settings.json", "json"),
    ("codex", "model_auto_compact_token_limit", 150_000, ".codex/config.toml", "toml"),
    ("qwen-code", "context.autoCompactThreshold", 0.6, ".qwen/settings.json", "json"),
    ("opencode", "compaction.reserved", 20_000, ".config/opencode/opencode.json", "jsonc"),
    ("kimi-cli", "loop_control.compaction_trigger_ratio", 0.7, ".kimi/config.toml", "toml"),
    ("aider", "max-chat-history-tokens", 4_000, ".aider.conf.yml", "yaml"),
]


def written(tree: dict[str, Any], form: str, comment: str, line_end: str) -> str:
    """A configuration as somebody has it, with comments."""
    if form == "toml":
        text = f"# {comment}\n{tomlkit.dumps(tree)}"
    elif form == "yaml":
        text = f"# {comment}\n{yaml.safe_dump(tree, sort_keys=False) if tree else ''}"
    else:
        text = f"// {comment}\n" + json.dumps(tree, indent=2).replace("\n", f" // {comment}\n", 1) + "\n"
    return text.replace("\n", line_end)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, st.sampled_from(TRIED), WORDS, st.sampled_from(["\n", "\r\n"]))
def test_any_configuration_is_restored_and_keeps_its_comments(
    home: Path, tree: dict[str, Any], tried: tuple[str, str, Any, str, str], comment: str, line_end: str
) -> None:
    agent, key, value, name, form = tried
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    before = written(tree, form, comment, line_end).encode()
    file.write_bytes(before)
    assert apply(agent, {key: value})
    now = file.read_bytes()
    assert comment.encode() in now and (line_end == "\n" or now.count(b"\n") == now.count(b"\r\n"))
    undo()
    assert file.read_bytes() == before
