"""The settings of one policy: which parameters its labels differ in; and labels as people give them."""

from __future__ import annotations

from ctxsim.answers.advice.settings import family, grids, in_order, parameters


def test_parameters_of_a_chain_are_told_by_their_link() -> None:
    assert parameters("mask:keep=3") == {"keep": "3"} and parameters("mask") == {}
    assert family("mask:keep=3+fifo:budget=9") == "mask + fifo"
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
    first, second = grids(["fifo:budget=9", "mask:keep=1,batch=2", "mask:keep=3,batch=2", "fifo"])
    assert (first.name, first.varied, first.values, first.full) == ("fifo", ("budget",), (("9", ""),), True)
    assert (second.varied, second.values) == (("keep",), (("1", "3"),)) and grids(labels[:2]) == []
    assert in_order(["10", "9", "9", "1.5"]) == ("1.5", "9", "10") and in_order(["b", "a", "b"]) == ("b", "a")
