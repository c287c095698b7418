"""Registries of classes that labels name: built-in (by folder), installed (by entry point), users' own (by path)."""

import importlib
import importlib.util
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from ctxsim.errors import LabelError, nearest, one_line, unknown
from ctxsim.plugins import labels
from ctxsim.plugins.files import load_file

T = TypeVar("T")

FOLDERS = ("ctxsim.policies.agents", "ctxsim.policies.frameworks")
"""Packages with one folder for each agent or framework: its `policy.py`, `estimator.py` and other files."""

SETTINGS = "settings.toml"
"""Name of the file in such a folder that describes the agent's settings."""

OUTSIDE = "ctxsim.agents"
"""Entry-point group of installed packages that are such folders."""

_points: list[EntryPoint] | None = None
"""Entry points received from another process; None: those installed on this machine are used."""

_forget: list[Callable[[], object]] = []
"""Callbacks that clear caches of what entry points gave; called when other entry points are given."""


_on_this_machine = cache(entry_points)
"""Returns the entry points of all groups. Cached: installed packages are searched once for all groups."""


def installed(group: str) -> Collection[EntryPoint]:
    """Return the entry points of a group."""
    if _points is None:
        return _on_this_machine().select(group=group)
    return [one for one in _points if one.group == group]


def give_points(points: Iterable[EntryPoint]) -> None:
    """Use these entry points instead of those installed on this machine, and clear the caches that depend on them."""
    global _points
    _points = list(points)
    for forget in _forget:
        forget()


def forgotten_by(*forget: Callable[[], object]) -> None:
    """Register callbacks that `give_points` calls."""
    _forget.extend(forget)


@cache
def folders(package: str) -> dict[str, tuple[str, Path]]:
    """Return package and path of each agent's or framework's folder by kebab-case name; agents of `OUTSIDE` too."""
    place = _place_of(package)
    found = {
        init.parent.name.replace("_", "-"): (f"{package}.{init.parent.name}", init.parent)
        for init in sorted(place.glob("*/__init__.py"))
        if init.parent.name != "shared"
    }
    if package == FOLDERS[0]:
        for point in installed(OUTSIDE):
            # Finding a package imports the packages around it. One that fails must not disable the others.
            with suppress(Exception, SystemExit):
                spec = importlib.util.find_spec(point.value)
                if spec is not None and spec.origin is not None:
                    found.setdefault(point.name, (point.value, Path(spec.origin).parent))
    return found


forgotten_by(folders.cache_clear)


def _place_of(package: str) -> Path:
    """The folder of one of ctxsim's own packages."""
    return Path(__file__).parents[2].joinpath(*package.split("."))


class Registry(Generic[T]):
    """All classes of one kind. Built-in ones are in the modules of `package` and in the file `{kind}.py` of each
    agent's and framework's folder. Installed ones are entry points of `group`. Errors call a class by its `kind`.
    `abstract` classes are left out. `forms` names the module of further forms of labels, as in `pipe:COMMAND`: its
    function `forms` returns their prefixes, and `form` the parser for a prefix.
    """

    def __init__(self, kind: str, package: str, base: type[T], forms: str = "") -> None:
        self.kind = kind
        self.group = f"ctxsim.{package.rpartition('.')[2]}"
        self._package = package
        self._base = base
        self._forms = forms
        forgotten_by(self._forget)

    def _forget(self) -> None:
        for name in ("_installed", "_modules", "_found"):
            vars(self).pop(name, None)

    @cached_property
    def _installed(self) -> Collection[EntryPoint]:
        return installed(self.group)

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The module of each file with built-in classes, mapped to its name in kebab case."""
        names = sorted(file.stem for file in _place_of(self._package).glob("*.py") if file.stem != "__init__")
        found = {f"{self._package}.{name}": name.replace("_", "-") for name in names}
        for package in FOLDERS:
            for name, (folder, place) in folders(package).items():
                if (place / f"{self.kind}.py").exists():
                    found[f"{folder}.{self.kind}"] = name
        return found

    @cached_property
    def _found(self) -> tuple[dict[str, type[T]], dict[str, str]]:
        classes: dict[str, type[T]] = {}
        broken: dict[str, str] = {}
        for module, name in self._modules.items():
            with _told_in(broken, name):
                for cls in self._defined_in(loaded(self.kind, name, module)):
                    self._add(cls, classes, broken)
        for point in self._installed:
            with _told_in(broken, point.name):
                self._add(self._load(point), classes, broken)
        return classes, broken

    @property
    def classes(self) -> dict[str, type[T]]:
        """Built-in and installed classes by name."""
        return self._found[0]

    @property
    def broken(self) -> dict[str, str]:
        """Names whose class can't be used, each with the error in one line."""
        return self._found[1]

    def _add(self, cls: type[T], classes: dict[str, type[T]], broken: dict[str, str]) -> None:
        """Add a class. Two classes of one name are both refused: a label wouldn't say which one made the numbers."""
        name = _name(cls)
        if name in classes:
            both = " and ".join(f"{one.__module__}.{one.__qualname__}" for one in (classes.pop(name), cls))
            broken[name] = f"two {self.group.rpartition('.')[2]} are called {name}: {both}; rename or remove one"
        elif name not in broken:
            classes[name] = cls

    def _load(self, point: EntryPoint) -> type[T]:
        cls = loaded(self.kind, point.name, point.value, point.load)
        if not (isinstance(cls, type) and issubclass(cls, self._base)):
            where = f"installed {self.kind} {point.name} ({point.value})"
            raise LabelError(f"{where}: is no subclass of ctxsim's {self._base.__name__}")
        labels.signature(point.name, cls)
        return cls

    def open(self, label: str) -> tuple[str, type[T], dict[str, str]]:
        """Return the name, the class and the raw parameters of a label: `name:key=value`, `path.py:Class:key=value`, or
        one of the forms.

        Raises UnknownName for an unknown name, and LabelError for a class that can't be loaded.
        """
        prefix, _, rest = label.strip().partition(":")
        # A form and a class may both have a framework's name. With nothing but parameters the label names the class.
        parameters_only = not rest or "=" in rest.partition(":")[0]
        own = parameters_only and self._in_its_file(prefix) is not None
        if not own and prefix in self._prefixes() and not (parameters_only and prefix in self.classes):
            opened: tuple[str, type[T], dict[str, str]] = importlib.import_module(self._forms).form(prefix)(rest)
            return opened
        # The value of `estimator=` is a label of its own, and a path in it isn't this label's path.
        before, estimator, rest = label.partition("estimator=")
        path, dot_py, after = before.partition(".py:")
        if dot_py:
            class_name, parameters = labels.split(after + estimator + rest)
            return f"{path}.py:{class_name}", self._from_file(f"{path}.py", class_name), parameters
        cls = self.named(prefix)
        name, parameters = labels.split(label)
        return name, cls, parameters

    def register(self, cls: type[T]) -> type[T]:
        """Add a class by its name in this process, and return it. Raises LabelError if another class has that name, or
        if a label would read it as something else.
        """
        name = _name(cls)
        # A class from a file is called as its path and its class.
        if name != name.strip() or (set(name) & set("+:=") and ".py:" not in name):
            raise LabelError(f"{self.kind} '{name}': a label can't hold this name; give {cls.__name__} another `name`")
        known = self.classes.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise LabelError(f"{self.kind} {name} is there already: {known}; give yours another name")
        self.classes[name] = cls
        return cls

    def named(self, name: str) -> type[T]:
        """Return the class of a name. Raises UnknownName, or LabelError for a broken class or a file alone."""
        if (alone := self._in_its_file(name)) is not None:
            return alone
        if name in self.broken:
            raise LabelError(self.broken[name])
        if name.endswith(".py"):
            known = [cls.__name__ for cls in self._defined_in(load_file(self.kind, name))]
            raise LabelError(f"{name}: name a class of it, as in {name}:CLASS; {_held(known)}")
        if not name or "=" in name:
            raise LabelError(f"'{name}' has no {self.kind}'s name, as in token-budget:budget=40000")
        if name not in self.classes:
            raise unknown(self.kind, name, [*self.classes, *self._prefixes()])
        return self.classes[name]

    def _prefixes(self) -> list[str]:
        return list(importlib.import_module(self._forms).forms()) if self._forms else []

    def _in_its_file(self, name: str) -> type[T] | None:
        """The built-in class in the file of the same name, found without importing any other file.

        None if there is none. Also None if plug-ins are installed or all classes are loaded: one may have the name.
        """
        if "_found" in vars(self) or self._installed:
            return None
        files = [module for module, called in self._modules.items() if called == name]
        held = [cls for file in files for cls in self._defined_in(loaded(self.kind, name, file))]
        return next((cls for cls in held if _name(cls) == name), None)

    def _from_file(self, path: str, class_name: str) -> type[T]:
        classes = {cls.__name__: cls for cls in self._defined_in(load_file(self.kind, path))}
        if class_name not in classes:
            close = nearest(class_name, classes) or _held(classes)
            raise LabelError(f"{path} has no {self.kind} '{class_name}'; {close}")
        return classes[class_name]

    def _defined_in(self, module: object) -> list[type[T]]:
        """The module's own classes of this kind: neither imported nor abstract."""
        return [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self._base)
            and value.__module__ == getattr(module, "__name__", "")
            and not getattr(value, "abstract", value is self._base)
        ]


def loaded(kind: str, name: str, where: str, load: Callable[[], Any] | None = None) -> Any:
    """Return what an entry point loads, or a module. Raises LabelError for anything that loading it raises."""
    try:
        return load() if load else importlib.import_module(where)
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {one_line(str(error))}"
        raise LabelError(f"installed {kind} {name} ({where}): {told}; mend or remove it") from error


@contextmanager
def _told_in(broken: dict[str, str], name: str) -> Iterator[None]:
    """Add a LabelError to `broken`: an installed package that fails must not disable the others."""
    try:
        yield
    except LabelError as error:
        broken[name] = str(error)


def _held(names: Iterable[str]) -> str:
    return f"it has {', '.join(names) or 'none'}"


def _name(cls: type[object]) -> str:
    return str(getattr(cls, "name", cls.__name__))
