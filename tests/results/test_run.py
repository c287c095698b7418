"""A run as it is read: which of its policies figures are told of."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.errors import CtxsimError, UnknownName


def test_no_figure_is_told_of_a_policy_that_failed_on_some_transcripts(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"keep-all": [{}, {}], "mask": [{}]})
    assert (run.labels, run.partial, run.label("keep-all")) == (["keep-all"], {"mask": 1}, "keep-all")
    with pytest.raises(CtxsimError, match="mask has rows of 1 of 2 transcripts: it failed on the others"):
        run.label("mask")
    with pytest.raises(UnknownName, match="has no policy 'fifo'; it has keep-all"):
        run.label("fifo")
