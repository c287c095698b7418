"""Charts of a run whose rows are written by hand: what is drawn where, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from matplotlib.colors import to_hex

from ctxsim.report import charts, figure
from ctxsim.report.charts import CLASSES, HATCHES

LONG = "head-tail:lines=4,bytes=200+token-budget:n=4,retain=500"


def looked_at(run: Any, usd: dict[str, float | None], chosen: str | None = None) -> Any:
    """What charts see of a run."""
    figures = {label: SimpleNamespace(usd=amount) for label, amount in usd.items()}
    pooled = SimpleNamespace(all=figures, priced=2, transcripts=3, by_dollars=True)
    return SimpleNamespace(
        run=run, pooled=pooled, labels=tuple(usd), chosen=chosen, headline="An answer.", title="Drawn", many="3 of all",
        mark="▶: advised" if chosen else "", marked=lambda label: f"<{label}>",
    )  # fmt: skip


def texts(drawn: Any) -> list[str]:
    """The headline, and what stands below it, without line breaks."""
    return [" ".join(one.get_text().split()) for one in drawn.texts]


PAID = {
    "keep-all": [(6.0, 1.0, 2.0, 3.0, 0.0), (4.0, 1.0, 1.0, 2.0, 0.0), None],
    "mask:keep=1": [(1.0, 0.5, 0.0, 0.5, 0.0), (1.0, 0.5, 0.0, 0.5, 0.0), (9.0, 9.0, 9.0, 9.0, 9.0)],
    LONG: [(2.0, 0.0, 1.0, 0.5, 0.5), (1.0, 0.0, 1.0, 0.0, 0.0), None],
    "unpriced": [None],
}
"""By policy, of three transcripts, dollars: all, read, written, uncached, of output. The last has no known price."""


def paid(label: str) -> pandas.DataFrame:
    columns = ("cost_usd", "cost_read_usd", "cost_write_usd", "cost_uncached_usd", "cost_output_usd")
    rows = [dict(zip(columns, one or [None] * 5, strict=True)) for one in PAID[label]]
    rows = [row | {"cost_summary_usd": 0.0, "cost_refetch_usd": 4.0} for row in rows]
    if label == "mask:keep=1":
        rows[2]["cost_usd"] = None
    return pandas.DataFrame(rows).astype(float)


def test_dollars_are_those_of_transcripts_with_prices() -> None:
    none = {"read": 1.0, "write": 0.0, "uncached": 1.0, "output": 0.0, "summary": 0.0, "refetch": 0.0}
    assert charts.bill(run_at(0.0), "mask:keep=1") == none
    # At a rate of 1/4, of twice 4 dollars.
    assert charts.bill(run_at(0.25), "mask:keep=1") == none | {"refetch": 2.0}


def run_at(rate: float) -> Any:
    return SimpleNamespace(of=paid, shown=str, rate=rate)


def dollars_of(drawn: list[Any], chosen: str | None) -> tuple[Any, Any]:
    run = run_at(0.0)
    one = looked_at(run, {"keep-all": 10.0, "mask:keep=1": 2.0, LONG: 3.0, "unpriced": None}, chosen)
    assert charts.dollars(one, Path("d.png")) == Path("d.png")
    [axes] = drawn[-1].axes
    return drawn[-1], axes


def test_a_bill_is_a_bar_for_each_policy_the_cheapest_on_top(drawn: list[Any]) -> None:
    found, axes = dollars_of(drawn, "mask:keep=1")
    assert [one.get_text() for one in axes.get_yticklabels()] == [
        "▶ mask:keep=1", "head-tail:lines=4,bytes=200+token-budget:\n  n=4,retain=500", "keep-all"
    ]  # fmt: skip
    bars = {kind.get_label(): [(bar.get_x(), bar.get_width()) for bar in kind] for kind in axes.containers}
    # Summaries cost nothing, so they have no colour here.
    assert bars == {
        "read": [(0, 1), (0, 0), (0, 2)], "write": [(1, 0), (0, 2), (2, 3)], "uncached": [(1, 1), (2, 0.5), (5, 5)],
        "output": [(2, 0), (2.5, 0.5), (10, 0)],
    }  # fmt: skip
    assert {kind.get_label(): to_hex(kind[0].get_facecolor()).upper() for kind in axes.containers} == {
        name: CLASSES[name] for name in bars
    }
    ends = [(one.get_text(), one.get_position(), one.get_fontweight()) for one in axes.texts]
    assert ends == [(" 2.00", (2, 0), "bold"), (" 3.00", (3, 1), "normal"), (" 10.00", (10, 2), "normal")]
    # The longest bar, and an eighth for its number.
    assert axes.get_xlim() == pytest.approx((0, 11.2)) and axes.yaxis_inverted()
    assert axes.get_xlabel() == "USD (modelled), all transcripts with known prices together"
    assert not any(line.get_visible() for line in axes.yaxis.get_gridlines())
    assert axes.get_yticklabels()[0].get_fontsize() == 9 and found.legends[0]._ncols == 5
    assert found.get_size_inches().tolist() == pytest.approx([9.5, 1.6 + 3 * 0.36])
    assert texts(found) == ["An answer.", "Drawn, 2 of 3 of all: where the dollars go; ▶: advised"]
    assert texts(dollars_of(drawn, None)[0])[1] == "Drawn, 2 of 3 of all: where the dollars go"


def test_on_paper_classes_are_told_apart_by_hatches(drawn: list[Any]) -> None:
    assert HATCHES == {
        "read": "", "write": "", "uncached": "////", "output": "....", "summary": "xxxx", "refetch": "++++"
    }  # fmt: skip
    with figure.for_paper():
        found, axes = dollars_of(drawn, "mask:keep=1")
    hatches = {kind.get_label(): kind[0].get_hatch() for kind in axes.containers}
    assert hatches == {"read": "", "write": "", "uncached": "////", "output": "...."}
    assert {to_hex(kind[0].get_edgecolor()) for kind in axes.containers} == {"#ffffff"}
    assert {kind[0].get_linewidth() for kind in axes.containers} == {0}
    assert found.get_supxlabel() == "▶: advised"
    _, axes = dollars_of(drawn, None)
    assert axes.containers[0][0].get_hatch() is None


@pytest.fixture
def ages(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    kept = {"a": [100.0, 10.0], "b": [90.0, 60.0], "c": [0.0, 20.0]}
    monkeypatch.setattr(charts, "survival_by_age", lambda run: (["0 (n=5)", "1-2 (n=3)"], kept))
    return kept


def test_what_is_kept_by_age_is_a_row_for_each_policy_the_best_on_top(
    ages: dict[str, list[float]], drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = looked_at(None, dict.fromkeys("abc"), "c")
    assert charts.by_age(one, Path("a.png")) == Path("a.png")
    [axes] = drawn[0].axes
    # 150, 110 and 20 in all.
    assert axes.images[0].get_array().tolist() == [[90, 60], [100, 10], [0, 20]]
    assert axes.images[0].get_clim() == (0, 100) and axes.images[0].get_cmap().name == "Blues"
    assert [one.get_text() for one in axes.get_xticklabels()] == ["0\n(n=5)", "1-2\n(n=3)"]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["<b>", "<a>", "<c>"]
    assert [one.get_text() for one in axes.texts] == ["90", "60", "100", "10", "0", "20"]
    assert axes.get_xlabel() == "age: calls since the source was first sent (n needs)"
    assert drawn[0].get_size_inches().tolist() == pytest.approx([10.5, 2.1 + 3 * 0.27])
    marks = "kept, % of what was needed (counted), by age; darker is better"
    assert texts(drawn[0]) == ["An answer.", f"Drawn, 3 of all; {marks}; ▶: advised"]
    # Of more than there is room for those that keep least go, but for the advised one.
    monkeypatch.setattr(charts, "MOST_ROWS", 1)
    charts.by_age(one, Path("a.png"))
    assert [one.get_text() for one in drawn[1].axes[0].get_yticklabels()] == ["<b>", "<c>"]
    assert texts(drawn[1])[1].endswith("; ▶: advised; 1 that keep least left out")
    monkeypatch.setattr(charts, "MOST_ROWS", 2)
    charts.by_age(looked_at(None, dict.fromkeys("abc")), Path("a.png"))
    assert texts(drawn[2])[1] == f"Drawn, 3 of all; {marks}; 1 that keep least left out"


def test_requests_by_what_the_cache_does_are_a_panel_for_each_policy(drawn: list[Any]) -> None:
    calls = pandas.DataFrame(
        [{"policy": "a", "call": 2, "tokens_cache_read": 10, "tokens_cache_write": 5, "tokens_uncached": 1},
         {"policy": "a", "call": 1, "tokens_cache_read": 0, "tokens_cache_write": 8, "tokens_uncached": 2},
         {"policy": "b", "call": 1, "tokens_cache_read": 0, "tokens_cache_write": 0, "tokens_uncached": 20}]
    )  # fmt: skip
    summary = pandas.DataFrame({"transcript": ["small", "large"], "tokens_full_sum": [1, 9]})
    asked: list[Any] = []
    run = SimpleNamespace(of=lambda label: summary, labels=["a", "b", "c"],
                          table=lambda name, **values: asked.append((name, values)) or calls)  # fmt: skip
    assert charts.cache(looked_at(run, dict.fromkeys("abc"), "b"), Path("c.png")) == Path("c.png")
    assert asked == [("calls", {"transcript": ["large"]})]
    # Three panels beside each other, of which the failed policy has none.
    first, second, third = drawn[0].axes
    assert [one.get_title(loc="left") for one in (first, second)] == ["<a>", "<b>"] and not third.axison
    shapes = [(one.get_label(), one.get_data()) for one in first.patches]
    edges = [0.5, 1.5, 2.5]
    assert [(name, list(data.values), list(data.edges), list(data.baseline)) for name, data in shapes] == [
        ("read from the cache", [0, 10], edges, [0, 0]), ("written", [8, 15], edges, [0, 10]),
        ("uncached", [10, 16], edges, [8, 15]),
    ]  # fmt: skip
    assert [to_hex(one.get_facecolor()).upper() for one in first.patches] == list(CLASSES.values())[:3]
    assert all(one.get_fill() and one.get_snap() for one in first.patches)
    assert list(second.patches[0].get_data().edges) == [0.5, 1.5]
    # The largest request has 20 tokens, and 5 % more.
    assert first.get_ylim() == second.get_ylim() == pytest.approx((0, 21))
    assert first.yaxis.get_major_formatter()(20_000) == "20K" and first.get_yticklabels()[0].get_fontsize() == 8
    assert drawn[0].get_size_inches().tolist() == pytest.approx([12, 0.8 + 2.1]) and drawn[0].legends[0]._ncols == 3
    about = "Drawn: the largest of 3; input tokens of each call (modelled); ▶: advised"
    assert texts(drawn[0]) == ["An answer.", about]


@pytest.mark.parametrize(
    ("knows", "dollars", "priced", "rounds", "names"),
    [
        ((), True, 0, False, []),
        (("survival",), False, 0, False, ["survival-tokens", "survival-age"]),
        (("survival",), True, 2, True, ["survival-tokens", "survival-age", "survival-dollars", "dollars", "rounds"]),
        (("cache_hit_ratio",), False, 1, False, ["dollars", "cache"]),
    ],
)  # fmt: skip
def test_a_run_has_the_charts_that_it_has_data_for(
    knows: tuple[str, ...], dollars: bool, priced: int, rounds: bool, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "in_rounds", lambda run: run if rounds else None)
    monkeypatch.setattr(charts, "sweep_charts", lambda one: {})
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(charts, "tradeoff", lambda one, path, dollars: made.append((path, dollars)) or path)
    one: Any = SimpleNamespace(
        run=SimpleNamespace(knows=lambda column: column in knows, folder=Path("out")),
        pooled=SimpleNamespace(by_dollars=dollars, priced=priced),
    )
    found = charts.charts_of(one)
    assert list(found) == ["token-growth", "estimates", *names]
    with figure.for_paper():
        grey = [name for name in names if name not in ("cache", "rounds")]
        assert list(charts.charts_of(one)) == ["token-growth", "estimates", *grey]
    assert not figure.is_for_paper()
    drawn = [name for name in ("survival-tokens", "survival-dollars") if name in found]
    assert [found[name](one, Path(name)) for name in drawn] == [Path(name) for name in drawn]
    assert made == [(Path(name), name == "survival-dollars") for name in drawn]
    # Of the two a command draws the last.
    made.clear()
    last = [Path("out", f"{name}.png") for name in drawn[-1:]]
    monkeypatch.setattr(charts, "picture", lambda run, goal: one)
    monkeypatch.setattr(charts, "OF_COMMAND", {"bench": ("survival-tokens", "survival-dollars")})
    assert charts.plot(one.run, "bench") == last
    assert made == [(path, path.stem == "survival-dollars") for path in last]


def test_every_chart_is_drawn_in_every_form_into_a_folder_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "charts_of", lambda one: dict.fromkeys(("a", "b"), lambda one, path: path))
    made = tmp_path / "x" / "y"
    for _ in range(2):
        assert charts.plot_all(None, made, ("svg", "png")) == [  # type: ignore[arg-type]
            made / name for name in ("a.svg", "a.png", "b.svg", "b.png")
        ]
    assert made.is_dir()
