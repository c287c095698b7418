"""The settings of one policy: which parameters its labels differ in."""

from __future__ import annotations

from ctxsim.answers.advice.settings import grids, parameters


def test_parameters_of_a_chain_are_told_by_their_link() -> None:
    assert parameters("mask:keep=3") == {"keep": "3"}
    assert parameters("mask:keep=3+fifo:budget=9") == {"mask keep": "3", "fifo budget": "9"}
    # Two links of one name are told by their number.
    assert parameters("mask:keep=3+drop-all+mask:keep=5") == {"mask 1 keep": "3", "mask 3 keep": "5"}


def test_a_grid_is_what_differs_by_size() -> None:
    labels = ["keep-all", "mask:keep=10,batch=1", "mask:keep=3,batch=1", "mask:keep=3,batch=20"]
    (grid,) = grids(labels)
    assert (grid.name, grid.varied) == ("mask", ("keep", "batch"))
    assert grid.values == (("3", "10"), ("1", "20"))
    assert grid.labels == {("10", "1"): labels[1], ("3", "1"): labels[2], ("3", "20"): labels[3]}
    # keep=10 has no batch=20: three of four.
    assert not grid.full
