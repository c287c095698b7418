"""A run as it is read: which of its policies figures are told of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from made_runs import made_run

from ctxsim.errors import CtxsimError, UnknownName
from ctxsim.results import InputInfo


def test_no_figure_is_told_of_a_policy_that_failed_on_some_transcripts(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"keep-all": [{}, {}], "mask": [{}]})
    assert (run.labels, run.partial, run.label("keep-all")) == (["keep-all"], {"mask": 1}, "keep-all")
    with pytest.raises(CtxsimError, match="mask has rows of 1 of 2 transcripts: it failed on the others"):
        run.label("mask")
    with pytest.raises(UnknownName, match=r"has no policy 'fifo'; it has keep-all \(bound\)$"):
        run.label("fifo")
    failed = InputInfo("a", "", 1, 1, failed=("a: mine.py:Mine: before_call raised KeyError",))
    run.info = msgspec.structs.replace(run.info, inputs=(failed,))
    with pytest.raises(
        UnknownName, match=r"it has keep-all \(bound\); failed: a: mine\.py:Mine: before_call raised KeyError$"
    ):
        run.label("fifo")
