"""A project's defaults for `bench` and `sweep`: `ctxsim.toml`, or `[tool.ctxsim]` in `pyproject.toml`."""

import os
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec

from ctxsim.answers.advice.advice import GOALS
from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.readers.paths import is_plain, plain
from ctxsim.safety.trust import asking, files_of, refuse

FILE, PROJECT = "ctxsim.toml", "pyproject.toml"

ENDS = ".git"
"""A folder that contains this is the project's root. Files above it don't belong to the project."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings in a project's file. Options on the command line override them.

    `paths` and `models` are relative to the current folder; in the file, to that file. `file` is '' if there is none.
    """

    paths: Annotated[tuple[str, ...], "transcripts, where a command line names none and no scenario"] = ()
    policies: Annotated[tuple[str, ...], "labels that bench runs"] = ()
    grids: Annotated[tuple[str, ...], "what sweep tries"] = ()
    goal: Annotated[str | None, "what the advice aims at"] = None
    estimator: Annotated[str | None, "what policies decide by"] = None
    model: Annotated[str | None, "window, prices, cache and tokenizer of a model"] = None
    models: Annotated[str | None, "a file of your own models and prices"] = None
    tokenizer: Annotated[str | None, "what the provider counts by"] = None
    cache: Annotated[str | None, "whose cache rules hold"] = None
    window: Annotated[int | None, "the provider's window in tokens"] = None
    head: Annotated[str | int | None, "what stands for a head that a log doesn't hold"] = None
    jobs: Annotated[int | None, "processes"] = None
    file: str = ""

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of the named settings that the file has."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


OPTIONS = ("estimator", "model", "models", "window", "head", "jobs")
"""Settings that are arguments of `bench`, and options of the same name."""

RULES = ("tokenizer", "cache")
"""Settings that are fields of the provider, and of `--provider`."""

ABOUT: dict[str, str] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(Settings, include_extras=True).items() if name != "file"
}
"""Each setting in a few words."""


def found(folder: Path | None = None, to_show: bool = False) -> Settings:
    """Return the settings of the nearest file in a folder or above it, up to the project's root; defaults without one.

    Raises InputError for a file that can't be read, that has an unknown or invalid setting, or, unless `to_show`, that
    isn't trusted and would run code or leave the project.
    """
    start = (folder or Path.cwd()).absolute()
    for place in (start, *start.parents):
        for file in (place / FILE, place / PROJECT):
            table = _table(file)
            if table is not None:
                return _read(file, table, to_show)
        if (place / ENDS).exists():
            break
    return Settings()


def _table(file: Path) -> dict[str, Any] | None:
    try:
        data = small_file(file)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise InputError(file, f"can't be read: {error}") from None
    try:
        whole = toml_values(data, file)
    except InputError:
        # An invalid pyproject.toml without settings of ctxsim is another tool's concern.
        if file.name == PROJECT and b"tool.ctxsim" not in data:
            return None
        raise
    tool = whole.get("tool")
    # A file of our own needs no header; one with settings above or other tables below it has unknown ones.
    if file.name == FILE and not (len(whole) == 1 and isinstance(tool, dict) and [*tool] == ["ctxsim"]):
        return whole
    table = tool.get("ctxsim") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise InputError(file, "tool.ctxsim is no table; see: ctxsim list config")
    return table


def _read(file: Path, table: dict[str, Any], to_show: bool) -> Settings:
    if "file" in table:
        raise InputError(file, "file is no setting; see: ctxsim list config")
    try:
        said = msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise InputError(file, f"{error}; see: ctxsim list config") from None
    if said.goal is not None and said.goal not in GOALS:
        raise InputError(file, f"goal = '{said.goal}' is none of: {', '.join(GOALS)}")
    for name in ("window", "jobs"):
        value = getattr(said, name)
        if value is not None and value < 1:
            raise InputError(file, f"{name} = {value} is less than 1")
    models = None if said.models is None else _beside(file, said.models)
    paths = tuple(_beside(file, path) for path in said.paths)
    read = msgspec.structs.replace(said, paths=paths, models=models, file=str(file))
    if to_show:
        return read
    given = [*paths, *([models] if models else [])]
    labels = [*said.policies, *said.grids, *([said.estimator] if said.estimator else [])]
    # The project is the nearest repository that contains the file, else the file's own folder.
    project = next((place for place in file.parents if (place / ENDS).exists()), file.parent)
    data, here = small_file(file), Path.cwd()
    refuse(file, data, asking(labels, given, here, project, (said.tokenizer, said.cache, said.model)))
    for own in filter(os.path.isfile, filter(None, (models, *files_of([said.model])))):
        from ctxsim.simulator.provider.models import read_overrides

        vendors = [entry.vendor for entry in read_overrides(Path(own))]
        refuse(file, data, asking((), (), here, project, vendors))
    return read


def _beside(file: Path, path: str) -> str:
    """A path, relative to the current folder; `~` is the user's home. A source that isn't a plain path is unchanged."""
    if not is_plain(path) and not path.startswith("~"):
        return path
    return plain(os.path.relpath(file.parent / os.path.expanduser(path)))  # noqa: PTH111 - no error without a home
