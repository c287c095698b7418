"""The pytest plug-in: the fixture `ctxsim_run`. The assertions of `ctxsim.testing` take the runs that it makes."""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def ctxsim_run(tmp_path: Path, pytestconfig: pytest.Config) -> Callable[..., Any]:
    """Return a function that benches and returns the run: `run(what, policies, window=128_000)`.

    What isn't given is as the project's file at pytest's root says; paths are relative to that root. Results are in
    `tmp_path`. Arguments and errors are those of `ctxsim.bench`.
    """
    # Imported only by tests that use the fixture, because pytest loads plug-ins for every project.
    from ctxsim.api.project import OPTIONS, RULES, found
    from ctxsim.api.runs import bench

    root, numbers = pytestconfig.rootpath, count(1)

    def at_root(one: Any) -> Any:
        return root / one if isinstance(one, str | Path) and (root / one).exists() else one

    def run(what: Any = None, policies: Sequence[Any] | None = None, **given: Any) -> Any:
        said = found(root)
        if what is None:
            what = list(said.paths)
            if not what:
                raise pytest.UsageError(f"ctxsim_run() needs a path, or paths in {root / 'ctxsim.toml'}")
        else:
            what = [at_root(one) for one in what] if isinstance(what, list | tuple) else at_root(what)
        fields = said.given(*OPTIONS, *RULES) | given
        return bench(what, policies or said.policies or None, out=tmp_path / f"ctxsim-{next(numbers)}", **fields)

    return run
