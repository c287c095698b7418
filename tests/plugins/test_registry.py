"""Classes from elsewhere: by path, by entry point, and broken ones that must not take the others with them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from command_line import ctxsim

from ctxsim import plugins
from ctxsim.errors import LabelError, UnknownName
from ctxsim.plugins import Registry
from ctxsim.policies import Policy
from ctxsim.policies.agents.settings_file import settings_names, settings_of

GOOD = """
from dataclasses import dataclass
from ctxsim.policies import Policy
from ctxsim.policies.agents.settings_file import settings_names, settings_of

@dataclass
class Installed(Policy):
    "Comes from a package."
    size: int = 3
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[Policy]:
    """A registry where packages are installed: one good, one that raises, one that is no policy, one twin, and one
    whose parameter has a type that only type checkers know.
    """
    (tmp_path / "good_package.py").write_text(GOOD)
    (tmp_path / "bad_package.py").write_text("raise RuntimeError('needs\\na newer numpy')\n")
    (tmp_path / "typed_package.py").write_text(
        f"from __future__ import annotations\n{GOOD.replace('class Installed', 'class Typed').replace('int', 'Foo')}"
    )
    (tmp_path / "twin_package.py").write_text(GOOD.replace("class Installed", "class Mask"))
    monkeypatch.syspath_prepend(tmp_path)
    points = [
        EntryPoint("installed", "good_package:Installed", "ctxsim.policies"),
        EntryPoint("bad", "bad_package:Bad", "ctxsim.policies"),
        EntryPoint("strange", "json:dumps", "ctxsim.policies"),
        EntryPoint("twin", "twin_package:Mask", "ctxsim.policies"),
        EntryPoint("typed", "typed_package:Typed", "ctxsim.policies"),
    ]
    monkeypatch.setattr(plugins, "_points", points)
    yield Registry("policy", "ctxsim.policies", Policy)
    for name in ("good_package", "twin_package", "typed_package"):
        sys.modules.pop(name, None)


def test_a_name_opens_what_the_list_has_under_it() -> None:
    """Whether its file is called like it or not, and before the list is made or after."""
    made = Registry("policy", "ctxsim.policies", Policy)
    for name, cls in made.classes.items():
        assert Registry("policy", "ctxsim.policies", Policy).named(name) is cls is made.named(name)


def test_a_built_in_policy_is_opened_without_importing_the_others() -> None:
    code = (
        "import sys\n"
        "from ctxsim.policies import open_policy\n"
        "open_policy('head-tail+mask:keep=3')\n"
        "some = {f'ctxsim.policies.{name}' for name in ('head_tail', 'fifo', 'agents.pi')} | {'asyncio'}\n"
        "print(sorted(some & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['ctxsim.policies.head_tail']\n", done.stdout + done.stderr


def test_an_installed_class_is_found_beside_the_built_in_ones(installed: Registry[Policy]) -> None:
    name, cls, parameters = installed.open("installed:size=4")
    assert (name, cls.__name__, parameters) == ("installed", "Installed", {"size": "4"})
    assert "token-budget" in installed.classes and "oracle-lossless" in installed.classes
    assert not {"policy", "oracle"} & set(installed.classes)


def test_a_broken_one_is_an_error_only_where_it_is_used(installed: Registry[Policy]) -> None:
    assert installed.open("fifo:budget=3")[0] == "fifo"
    assert set(installed.broken) == {"bad", "strange", "mask", "typed"}
    with pytest.raises(LabelError, match=r"^installed policy bad \(bad_package:Bad\): RuntimeError: needs a new"):
        installed.open("bad")
    with pytest.raises(LabelError, match="is no subclass of ctxsim's Policy"):
        installed.open("strange")
    with pytest.raises(LabelError, match=r"^<class 'typed_package.Typed'>: an annotation .*: name 'Foo' is not"):
        installed.open("typed")
    with pytest.raises(UnknownName, match="did you mean installed"):
        installed.open("instaled")


def test_of_two_with_one_name_neither_makes_numbers(installed: Registry[Policy]) -> None:
    with pytest.raises(LabelError, match=r"two policies are called mask: ctxsim\.policies\.mask\.Mask and twin_"):
        installed.open("mask:keep=3")


@pytest.mark.parametrize("kind", ["policies", "estimators"])
def test_the_list_shows_a_broken_one_in_one_line(
    kind: str, installed: Registry[Policy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry("policy", "ctxsim.policies", Policy) if kind == "policies" else None
    if registry is None:
        from ctxsim.counting.estimators import Estimator

        point = EntryPoint("bad", "bad_package:Bad", "ctxsim.estimators")
        monkeypatch.setattr(plugins, "_points", [point])
        monkeypatch.setattr(
            "ctxsim.counting.estimators.registry", Registry("estimator", "ctxsim.counting.estimators", Estimator)
        )
    else:
        monkeypatch.setattr("ctxsim.policies.registry", registry)
    done = ctxsim("list", kind, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    at = lines.index("bad   (can't be used)")
    assert "RuntimeError: needs a newer numpy; mend or remove it" in lines[at + 1]
    assert ("token-budget:budget=40000,retain=500" if kind == "policies" else "words:factor=1.33") in lines


def test_a_settings_file_beside_ones_own_policy_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "settings.toml").write_text("debug = true")
    assert Registry("policy", "ctxsim.policies", Policy).open(f"{tmp_path}/mine.py:Installed")[1].agent == ""


def test_a_class_of_ones_own_has_its_name_alone() -> None:
    registry = Registry("policy", "ctxsim.policies", Policy)

    class Own(Policy):
        """Mine."""

        name = "own-one"

    assert registry.register(Own) is Own and registry.named("own-one") is Own and registry.open("own-one:a=1") == (
        "own-one", Own, {"a": "1"}
    )  # fmt: skip
    assert registry.register(Own) is Own, "the same class again"

    class Fifo(Policy):
        """Its name belongs to another one."""

        name = "fifo"

    with pytest.raises(LabelError, match=r"policy fifo is there already: .*; give yours another name"):
        registry.register(Fifo)
    for name in ("my: policy", "a+b", "a=1", " mine"):
        Fifo.name = name
        with pytest.raises(LabelError, match=re.escape(f"policy '{name}': a label can't hold this name")):
            registry.register(Fifo)
    estimators = Registry("estimator", "ctxsim.counting.estimators", object)  # type: ignore[type-abstract]
    estimators.__dict__["_found"] = ({"own-one": Policy}, {})
    with pytest.raises(LabelError, match="estimator own-one is there already"):
        estimators.register(Own)


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "'' has no policy's name, as in token-budget:budget=40000"), ("a=1", "'a=1' has no policy's name"),
     ("fifos", r"unknown policy 'fifos'; did you mean fifo\?")],
)  # fmt: skip
def test_what_is_no_name_is_told(name: str, said: str) -> None:
    with pytest.raises(LabelError if "name" in said else UnknownName, match=said):
        Registry("policy", "ctxsim.policies", Policy).named(name)


def test_a_form_goes_before_a_class_of_its_name_unless_only_parameters_follow(
    installed: Registry[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ModuleType("made_forms")
    made.forms = lambda: ("pipe", "fifo", "installed")
    made.form = lambda prefix: lambda rest: (f"{prefix}:{rest}", Policy, {})
    monkeypatch.setitem(sys.modules, "made_forms", made)
    registry = Registry("policy", "ctxsim.policies", Policy, "made_forms")
    assert registry.open("pipe:cat -n") == ("pipe:cat -n", Policy, {})
    assert registry.open("pipe") == ("pipe:", Policy, {}) and registry.open("pipe:x=1") == ("pipe:x=1", Policy, {})
    assert registry.open("fifo:Class:x=1") == ("fifo:Class:x=1", Policy, {})
    assert registry.open("fifo:budget=3")[0] == registry.open("fifo")[0] == "fifo"
    assert registry.open("installed:size=4")[0] == "installed" and registry.open("installed:X")[0] == "installed:X"
    with pytest.raises(UnknownName, match="did you mean pipe"):
        registry.open("pip:x=1")


def test_a_file_names_its_class_and_an_estimators_file_is_another(tmp_path: Path) -> None:
    registry = Registry("policy", "ctxsim.policies", Policy)
    file = tmp_path / "mine.py"
    file.write_text(GOOD + "\nclass Other(Policy): pass\nclass Thing: pass\nclass Quiet(Policy, abstract=True): pass\n")
    name, cls, parameters = registry.open(f"{file}:Installed:size=4,estimator={file}:Half:x=1")
    assert (name, cls.__name__, parameters) == (
        f"{file}:Installed", "Installed", {"size": "4", "estimator": f"{file}:Half:x=1"}
    )  # fmt: skip
    assert registry.open(f"{file}:Other")[2] == {}
    assert registry.open(f"fifo:budget=3,estimator={file}:Half")[0] == "fifo"
    for label, said in (
        (f"{file}:Thing", f"{file} has no policy 'Thing'; it has Installed, Other"),
        (f"{file}:", f"{file} has no policy ''; it has Installed, Other"),
        (f"{file}:Quiet", f"{file} has no policy 'Quiet'; it has Installed, Other"),
        (f"{file}:Instaled", f"{file} has no policy 'Instaled'; did you mean Installed?"),
        (f"{file}:zzz", f"{file} has no policy 'zzz'; it has Installed, Other"),
        (f"{file}", f"{file}: name a class of it, as in {file}:CLASS; it has Installed, Other"),
    ):  # fmt: skip
        with pytest.raises(LabelError, match=re.escape(said)):
            registry.open(label)
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(LabelError, match="it has none"):
        registry.open(f"{tmp_path}/empty.py:zzz")


def test_other_plug_ins_are_given_and_what_was_found_is_forgotten(
    installed: Registry[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "installed" in installed.classes and len(plugins.installed("ctxsim.policies")) == 5
    plugins.give_points([EntryPoint("other", "good_package:Installed", "ctxsim.policies"),
                         EntryPoint("x", "y", "ctxsim.readers")])  # fmt: skip
    assert [one.name for one in plugins.installed("ctxsim.policies")] == ["other"]
    assert "installed" in installed.classes and not installed.broken, "by the class's own name"
    plugins.give_points([])
    assert "installed" not in installed.classes
    monkeypatch.setattr(plugins, "_points", None)
    plugins.folders.cache_clear()


def test_folders_of_agents_have_their_names_and_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Registry[Policy]
) -> None:
    (tmp_path / "far_agent").mkdir()
    (tmp_path / "far_agent" / "__init__.py").touch()
    (tmp_path / "far_agent" / "settings.toml").write_text('read_on = "2026-11-26"')
    (tmp_path / "far_agent" / "policy.py").write_text(GOOD)
    (tmp_path / "ruined").mkdir()
    (tmp_path / "ruined" / "__init__.py").touch()
    (tmp_path / "ruined" / "policy.py").write_text("1 / 0")
    assert "far" not in settings_names()
    plugins.give_points(
        EntryPoint(name, value, "ctxsim.agents")
        for name, value in (("far", "far_agent"), ("codex", "far_agent"), ("gone", "no_such_package"),
                            ("in-none", "no_such_package.x"), ("in-bad", "bad_package.x"), ("ruined", "ruined"))
    )  # fmt: skip
    try:
        agents, frameworks = map(plugins.folders, plugins.FOLDERS)
        assert agents["far"] == ("far_agent", tmp_path / "far_agent") and "gone" not in agents
        assert not {"in-none", "in-bad"} & set(agents) and "installed" in installed.classes
        assert list(installed.broken) == ["ruined"]
        with pytest.raises(LabelError, match=r"^installed policy ruined \(ruined.policy\): ZeroDivision"):
            Registry("policy", "ctxsim.policies", Policy).open("ruined")
        assert agents["claude-code"][0] == "ctxsim.policies.agents.claude_code"
        assert agents["codex"][0] == "ctxsim.policies.agents.codex", "ours go first"
        assert "shared" not in agents and "shared" not in frameworks and "far" not in frameworks
        assert frameworks["langchain"][1].name == "langchain"
        assert "far" in settings_names() and settings_of("far").read_on == "2026-11-26"
        assert importlib.import_module("far_agent.policy").Installed.agent == "far"
    finally:
        plugins.give_points([])
        monkeypatch.setattr(plugins, "_points", None)
        plugins.folders.cache_clear()
