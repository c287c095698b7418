"""The user's own code: what is sent, and what is taken for installed."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

from ctxsim import plugins
from ctxsim.counting.estimators import Estimator, registered_estimators
from ctxsim.errors import CtxsimError
from ctxsim.policies import Policy, open_policy, register, registered_policies
from ctxsim.runs import user_code
from ctxsim.runs.task import Setting, specs_of
from ctxsim.runs.user_code import Packages, Shipped, code_given, packages_installed, plugin_packages, shipped, unpack


@pytest.fixture
def as_new(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As in a process that got nothing yet; what is imported and found goes again."""
    for name, value in (("_given", None), ("_copies", None), ("_unpacked", Shipped())):
        monkeypatch.setattr(user_code, name, value)
    monkeypatch.setattr(plugins, "_points", None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    plugins.give_points([])
    plugins._points = None
    for name in ("far", "near"):
        for module in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[module]


def points(monkeypatch: pytest.MonkeyPatch, *values: tuple[str, str, str]) -> None:
    made = [EntryPoint(name, value, group) for group, name, value in values]
    monkeypatch.setattr(user_code, "installed", lambda group: [one for one in made if one.group == group])


def test_packages_of_plug_ins_are_sent_whole(as_new: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "near" / "in" / "__pycache__").mkdir(parents=True)
    (tmp_path / "near" / "__init__.py").write_text("x = 1")
    (tmp_path / "near" / "in" / "more.txt").write_text("more")
    (tmp_path / "near" / "in" / "__pycache__" / "a.pyc").write_text("no")
    (tmp_path / "far.py").write_text("y = 2")
    monkeypatch.syspath_prepend(tmp_path)
    given = (("ctxsim.readers", "b", "far"), ("ctxsim.policies", "a", "near.in:A"), ("ctxsim.agents", "c", "ctxsim.x"),
             ("ctxsim.estimators", "d", "nowhere.at:D"), ("others", "e", "e"))  # fmt: skip
    points(monkeypatch, *given)
    assert plugin_packages() == {"far", "near", "ctxsim", "nowhere"}
    found = packages_installed()
    assert found.files == {"far.py": b"y = 2", "near/__init__.py": b"x = 1", "near/in/more.txt": b"more"}
    assert found.points == (given[2], given[3], given[1], given[0]), "by group and name"
    size = sum(map(len, found.files.values()))
    monkeypatch.setattr(user_code, "MOST_BYTES", size)
    assert packages_installed() == found
    monkeypatch.setattr(user_code, "MOST_BYTES", size - 1)
    with pytest.raises(CtxsimError, match="the packages of plug-ins have 0 MB, more than 0 MB: too much to send"):
        packages_installed()
    monkeypatch.setattr(user_code, "MOST_BYTES", size)
    assert shipped([], elsewhere=True).packages == found and shipped([]).packages is None


def test_given_packages_stand_in_the_place_of_those_before(as_new: None) -> None:
    first = Packages(
        {"far.py": b"x = 1", "near/__init__.py": b"from far import x"}, (("ctxsim.policies", "a", "far:A"),)
    )
    unpack(Shipped(packages=first))
    import near  # type: ignore[import-not-found]

    assert near.x == 1 and [one.name for one in plugins.installed("ctxsim.policies")] == ["a"]
    place = sys.path[0]
    given = code_given()
    assert given is not None and given.packages == Packages(points=first.points), "their files are on the search path"
    unpack(Shipped({"f": b""}, packages=first))
    assert sys.path[0] == place, "the same again"
    unpack(Shipped(packages=Packages({"far.py": b"x = 2"})))
    assert place not in sys.path and "near" not in sys.modules and plugins.installed("ctxsim.policies") == []
    import far  # type: ignore[import-not-found]

    assert far.x == 2
    unpack(Shipped({"f": b""}))
    assert sys.path[0] != place and "far" in sys.modules, "none come along: those before stay"


def test_what_came_last_is_known(as_new: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code_given() is None
    heard: list[Any] = []
    monkeypatch.setattr(user_code, "give_files", heard.append)
    code = Shipped({"a": b"b"})
    unpack(code)
    unpack(code)
    assert heard == [{"a": b"b"}] and code_given() == code
    unpack(Shipped())
    assert code_given() is None and heard[1:] == [{}]


def test_no_thread_goes_on_before_all_is_known(as_new: None, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    monkeypatch.setattr(user_code, "give_files", lambda files: (begun.set(), go.wait(9)))
    threads = [threading.Thread(target=unpack, args=(Shipped({"a": b"b"}),)) for _ in range(2)]
    threads[0].start()
    assert begun.wait(9)
    threads[1].start()
    threads[1].join(0.05)
    waits = threads[1].is_alive()
    go.set()
    for one in threads:
        one.join(9)
    assert waits


def test_classes_that_no_file_holds_go_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Beta(Policy):
        """One of two."""

    @dataclass
    class Alpha(Policy):
        """The other."""

    asked: list[str] = []
    monkeypatch.setattr("ctxsim.runs.user_code.files_loaded", lambda: {"f.py": b"x"})
    try:
        for cls in (Beta, Alpha):
            register(cls)
        specs = specs_of(Setting("a", "a", ("beta", "alpha", "mask")))
        monkeypatch.setattr(user_code, "installed", lambda group: asked.append(group) or [])
        code = shipped(specs)
        assert [cls.__name__ for cls in cloudpickle.loads(code.classes)] == ["Alpha", "Beta"]
        assert len(asked) == len(user_code.GROUPS), "what is installed is looked up once for all classes"
        assert code.files == {"f.py": b"x"} and code.packages is None
        points(monkeypatch, ("ctxsim.policies", "beta", f"{__name__.partition('.')[0]}:Beta"))
        assert shipped([open_policy("beta")]).classes == b"", "a package that is installed brings it"
        assert shipped([open_policy("mask")]).classes == b""
    finally:
        for name in ("alpha", "beta"):
            registered_policies().pop(name, None)


def test_classes_that_come_along_are_known_and_what_is_no_class_of_ours_is_left(as_new: None) -> None:
    @dataclass
    class ComesAlong(Policy):
        """A policy made elsewhere."""

    @dataclass(frozen=True)
    class CountsAlong(Estimator):
        """An estimator made elsewhere."""

    unpack(Shipped(classes=cloudpickle.dumps([ComesAlong, CountsAlong, SimpleNamespace])))
    known = registered_policies().pop("comes-along", None), registered_estimators().pop("counts-along", None)
    assert all(known) and "simple-namespace" not in registered_policies()
