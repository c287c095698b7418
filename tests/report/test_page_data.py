"""What the page shows of a run whose rows are written by hand, and which of its transcripts it holds."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_runs import made_run
from pages import ITEMS, call, parts

from ctxsim.errors import InputError
from ctxsim.report import page_parts
from ctxsim.report.page import page, page_data, write_page
from ctxsim.report.page_parts import chosen_transcripts
from ctxsim.report.picture import Picture, picture, title_of
from ctxsim.report.style import COLORS, DARK_COLORS, OTHER_COLOR
from ctxsim.results import Run
from ctxsim.results.columns import Event, FrontierRow, LossRow, NeedRow
from ctxsim.results.compactions import CompactionRow
from ctxsim.results.csv_text import write_table
from ctxsim.results.run_info import Recorder


def need(transcript: str, age: int, detector: str = "strict") -> NeedRow:
    return NeedRow(transcript, 5, detector, "value", age, "head", "read", 1, 1, "x")


def loss(transcript: str, policy: str, age: int) -> LossRow:
    return LossRow(transcript, policy, 5, 0, "dropped", "strict", "value", age, "head", "read", 1)


ROWS: dict[str, list[dict[str, Any]]] = {
    "keep-all": [{"cost_usd": 20.0, "tokens_sum": 20_000, "cost_read_usd": 5.0},
                 {"cost_usd": 10.0, "tokens_sum": 30_000, "cost_read_usd": 2.5},
                 {"cost_usd": 5.0, "tokens_sum": 10_000}],
    "mask:keep=1": [{"cost_usd": 10.0, "tokens_sum": 10_000, "survival": 0.95, "compactions": 3},
                    {"cost_usd": 5.0, "tokens_sum": 15_000, "survival": 0.95}, {"cost_usd": 2.5, "tokens_sum": 5_000}],
    "retry": [{"cost_usd": 19.0, "tokens_sum": 19_000, "survival": 0.5, "overflows": 2, "first_failure": "overflow",
               "calls_until_first_failure": 3},
              {"cost_usd": 9.0, "tokens_sum": 29_000, "survival": 0.5}, {"cost_usd": 5.0, "tokens_sum": 10_000}],
}  # fmt: skip
TABLES = {
    "needs": [need("t0", 1), need("t0", 2), need("t1", 0), need("t1", 30), need("t1", 3, "loose")],
    "losses": [loss("t0", "retry", 1), loss("t1", "retry", 0), loss("t1", "mask:keep=1", 30)],
    "frontier": [FrontierRow(name, family, kept, 1_000 * (1 + kept), 1 + kept, 2 + kept)
                 for name in ("t0", "t1", "t2") for family in ("any", "results") for kept in (0.0, 1.0)],
}  # fmt: skip


EDIT = Event("t1", "mask:keep=1", 1, "before_call", 4, "edited", 9, 3, "why", "", "cut")


def run_of(folder: Path, rows: dict[str, list[dict[str, Any]]] | None = None, **told: Any) -> Run:
    """Three transcripts of one session, so that there are no ranges."""
    one = {label: [{"root": "t0", **row} for row in its] for label, its in (rows or ROWS).items()}
    usual = {
        "title": "Recorded transcripts in a, /srv", "tokenizers": {"o200k_base": "x"}, "detectors": ("strict", "loose"),
        "shown": {"mask:keep=1": "mask"}, "tables": TABLES,
        "providers": ({"window": 200_000, "cache": "explicit", "model": "m", "prices": {"source": "a list"}},
                      {"window": 1_000, "cache": "none"}),
    }  # fmt: skip
    return made_run(folder / "run", one, **{**usual, **told})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """With a request, an edit and an item."""
    tables = {**TABLES, "calls": [call(1, "keep-all", 10)], "items": ITEMS, "events": [EDIT]}
    return run_of(tmp_path_factory.mktemp("made"), tables=tables)


def test_the_page_s_data_is_of_all_transcripts(run: Run) -> None:
    found = page_data(run, chosen=["t1", "t0"])
    assert (found["beside"], found["chosen"], found["start"]) == ("keep-all", 1, 1)
    assert found["about"] == "3 transcripts, 30 calls, 3 policies. ctxsim 0; tokens counted by o200k_base."
    assert found["verdict"][0].startswith("Take mask: 17.50 USD instead of 35.00 (-50 %), keeps 97 %")
    # 30,000 of 60,000 tokens; the largest requests have 1,500 and 3,000.
    assert found["card"] == [["bill, USD", "17.50", "35.00"], ["tokens sent", "30.0K", "60.0K"],
                             ["largest request", "1,500", "3,000"], ["kept", "97%", "100%"],
                             ["calls refused", "0", "0"]]  # fmt: skip
    assert found["basis"] == (
        "3 of 30 calls, in 3 of 3 transcripts, used something from an older result. Figures are of all transcripts "
        "together. Click a heading to sort, a policy to look at it."
    )
    assert found["made"] == (
        "References found by strict, loose. m, window 200,000, cache explicit, a list; no model, window 1,000, cache "
        "none, prices unknown"
    )
    number = picture(run).colors
    assert found["policies"] == [
        {"label": "keep-all", "shown": "keep-all (bound)", "name": "keep-all", "bound": True, "color": None},
        {"label": "mask:keep=1", "shown": "mask", "name": "mask", "bound": False,
         "color": [COLORS[number["mask:keep=1"]], DARK_COLORS[number["mask:keep=1"]]]},
        {"label": "retry", "shown": "retry", "name": "retry", "bound": False,
         "color": [COLORS[number["retry"]], DARK_COLORS[number["retry"]]]},
    ]  # fmt: skip
    assert [column["title"] for column in found["columns"]] == [
        "policy", "USD", "of keep-all", "kept", "tokens", "refused", "peak", "sum", "least", "hit", "comp.", "estimate",
        "USD, mean",
    ]  # fmt: skip
    assert all(f"{column['title']}: {column['about']}" in found["meaning"] for column in found["columns"][1:])
    assert found["columns"][1]["about"] == "cost of all transcripts with known prices"
    # 0.95, 0.95 and 1 are 96.7 % on average; 33 of 35 dollars, 58 of 60 thousand tokens.
    assert [(row["policy"], row["bad"]) for row in found["rows"]] == [(0, False), (1, False), (2, True)]
    assert found["rows"][1]["cells"] == [
        ("mask:keep=1", "mask"), (17.5, "17.50"), (0.5, "50%"), (0.96666667, "97%"), (0.5, "50%"), (0, "-"),
        (1_500, "1,500"), (30_000, "30.0K"), (None, "-"), (None, "-"), (1.0, "1.0"), (None, "-"), (0.5, "50%"),
    ]  # fmt: skip
    assert found["rows"][2]["cells"][2:6] == [(0.94285714, "94%"), (0.66666667, "67%"), (0.96666667, "97%"),
                                              (2, "1: window")]  # fmt: skip
    none = dict.fromkeys(("write", "uncached", "output", "summary", "refetch"), 0.0)
    assert found["dollars"] == [{"policy": 0, "read": 7.5, **none}, {"policy": 1, "read": 0.0, **none},
                                {"policy": 2, "read": 0.0, **none}]  # fmt: skip
    assert found["transcripts"] == [{"name": "t1", "calls": 10, "tokens": 30_000},
                                    {"name": "t0", "calls": 10, "tokens": 20_000}]  # fmt: skip
    assert (found["more"], found["compactions"]) == (1, None)
    assert found["age"] == {
        "groups": ["0 (n=1)", "1-2 (n=2)", "30+ (n=1)"],
        "rows": [{"policy": 0, "kept": [100, 100, 100]}, {"policy": 1, "kept": [100, 100, 0]},
                 {"policy": 2, "kept": [0, 50, 100]}],
    }  # fmt: skip


def test_the_trade_off_is_in_per_cent_of_keep_all_s(run: Run) -> None:
    found = page_data(run)["tradeoff"]
    assert [one["title"] for one in found.values()] == [
        "input tokens (counted), % of keep-all's", "dollars (modelled), % of keep-all's"
    ]  # fmt: skip
    # Two of 30 calls are refused; keeping more for less, mask beats it.
    plain = {"reach": None, "kept": None}
    assert found["dollars"]["points"] == [
        {"policy": 0, "x": 100, "y": 100, **plain, "beaten": False, "refused": 0},
        {"policy": 1, "x": 50, "y": pytest.approx(290 / 3), **plain, "beaten": False, "refused": 0},
        {"policy": 2, "x": pytest.approx(3_300 / 35), "y": pytest.approx(200 / 3), **plain, "beaten": True,
         "refused": pytest.approx(1 / 15)},
    ]  # fmt: skip
    assert [point["x"] for point in found["tokens"]["points"]] == pytest.approx([100, 50, 5_800 / 60])
    # 3,000 to 6,000 of 60,000 tokens; 3 to 6 of 35 dollars, and 6 to 9 where edits are paid.
    lines = [(line["dash"], line["name"], line["x"], line["y"]) for line in found["tokens"]["lines"]]
    assert lines == [("solid", "whole results", pytest.approx([5, 10]), [0, 100]),
                     ("dot", "any means", pytest.approx([5, 10]), [0, 100])]  # fmt: skip
    paid = [(line["dash"], line["x"]) for line in found["dollars"]["lines"]]
    assert paid == [("solid", pytest.approx([300 / 35, 600 / 35])), ("dash", pytest.approx([600 / 35, 900 / 35])),
                    ("dot", pytest.approx([300 / 35, 600 / 35]))]  # fmt: skip
    assert found["tokens"]["joined"] == []


def test_ranges_reach_up_and_down_and_are_named(tmp_path: Path) -> None:
    rows = {label: [{**row, "root": f"t{n}"} for n, row in enumerate(its)] for label, its in ROWS.items()}
    run = run_of(tmp_path, rows)
    found = page_data(run)
    assert found["basis"].endswith(
        " Figures are of all transcripts together; ranges: from other projects, as sessions are too few. Click a "
        "heading to sort, a policy to look at it."
    )
    one = picture(run).pooled.all["mask:keep=1"]
    point = found["tradeoff"]["dollars"]["points"][1]
    for key, share in (("reach", one.usd_share), ("kept", one.kept)):
        assert share is not None and share.low is not None and share.high is not None
        assert share.low < share.value < share.high or key == "kept"
        assert point[key] == pytest.approx([100 * (share.high - share.value), 100 * (share.value - share.low)])
    assert point["reach"] != point["kept"]


def test_without_prices_there_are_no_dollars_and_lines_join_settings(tmp_path: Path) -> None:
    rows = {label: [{"tokens_sum": tokens}] for label, tokens in (("keep-all", 10), ("mask:keep=1", 5),
                                                                  ("mask:keep=2", 6), ("mask:keep=3", 7))}  # fmt: skip
    run = run_of(tmp_path, rows, shown={}, bounds=("keep-all", "mask:keep=3"))
    found = page_data(run)
    assert found["tradeoff"]["dollars"] is None and found["dollars"] == []
    assert found["card"][0] == ["tokens sent", "5", "10"] and found["about"].startswith("1 transcript, 10 calls, 4 pol")
    assert found["tradeoff"]["tokens"]["joined"] == []
    less = run_of(tmp_path / "less", rows, shown={}, bounds=("keep-all",))
    assert page_data(less)["tradeoff"]["tokens"]["joined"] == [[1, 2, 3]]


def test_where_nothing_is_advised_the_first_that_is_no_bound_is_looked_at(tmp_path: Path) -> None:
    alone = page_data(run_of(tmp_path / "a", {"keep-all": ROWS["keep-all"]}))
    assert (alone["chosen"], alone["card"], alone["start"]) == (None, [], 0)
    assert alone["verdict"] == ["Nothing to advise: only bounds ran."]
    rows = {label: ROWS[label] for label in ("keep-all", "retry")}
    nothing = page_data(run_of(tmp_path / "b", {**rows, "mask:keep=9": ROWS["retry"]}))
    # Nothing is not compared with itself.
    assert (nothing["chosen"], nothing["card"], nothing["start"]) == (0, [], 1), "to change nothing is the answer"


def test_an_answer_for_several_agents_is_no_verdict_on_all(tmp_path: Path) -> None:
    def data(name: str, *agents: str, said: tuple[str, ...] = ("What to set.",)) -> dict[str, Any]:
        rows = {
            "keep-all": ROWS["keep-all"],
            "as-set": ROWS["retry"],
            "as-set:given=pi/compaction.reserveTokens=99": ROWS["mask:keep=1"],
        }
        recorders = [Recorder(f"t{n}", agent) for n, agent in enumerate(agents)]
        return page_data(run_of(tmp_path / name, rows, recorders=recorders), said=said)

    several = data("a", "pi", "codex")
    assert (several["verdict"], several["card"], several["chosen"]) == (["What to set."], [], None)
    one = data("b", "pi", "pi")
    assert one["verdict"] == ["What to set."] and one["card"] and one["chosen"] is not None
    assert data("c", "pi", "codex", said=())["card"] and one["beside"] == "as set"


def test_five_providers_are_named_and_recorded_compactions_are_shown(tmp_path: Path) -> None:
    run = run_of(tmp_path, providers=tuple({"window": n, "cache": "none"} for n in range(1, 7)))
    assert page_data(run)["made"].endswith("window 5, cache none, prices unknown")
    texts = {"transcript": "session", "root": "session", "agent": "pi", "model": "", "started_by": "auto"}
    plain = {name: texts.get(name, 0) for name in CompactionRow.__struct_fields__}
    row = CompactionRow(**{**plain, "compaction": 1, "needed_strict": 4, "kept_strict": 1})
    write_table(run.folder, "compactions", CompactionRow, [row])
    found = page_data(run)["compactions"]
    assert found["columns"][:3] == ["session", "agent", "by"] and len(found["columns"]) == len(found["rows"][0]) == 15
    assert found["rows"][0][:4] == ("session 1", "pi", "auto", "0") and found["rows"][0][8] == "1/4"
    assert found["legend"].startswith("by: who started it; filled: ") and found["means"][:2] == [
        "pi: 1 compaction in 1 session",
        "kept of identifiers that later calls used: 25.0%, mean of 1; 1 of 4 in all",
    ]


def test_nothing_known_is_left_out_of_the_card(tmp_path: Path) -> None:
    rows = {"keep-all": [{"survival": None, "tokens_sum": 100}], "mask:keep=1": [{"survival": None, "tokens_sum": 50}]}
    found = page_data(run_of(tmp_path, rows))
    assert [row[0] for row in found["card"]] == ["tokens sent", "largest request", "calls refused"]
    assert found["tradeoff"]["tokens"]["points"] == [], "what is kept isn't known"


def test_pictures_agree_on_names_colours_and_what_is_drawn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    one = picture(run)
    assert (one.title, one.many, one.chosen, one.mark) == (
        "Recorded transcripts",
        "3 transcripts",
        "mask:keep=1",
        "▶: named first in the answer",
    )
    assert [one.marked(label) for label in one.labels] == ["keep-all (bound)", "▶ mask", "retry"]
    assert [one.name(label) for label in one.labels] == ["keep-all", "mask", "retry"] and one.bound("keep-all")
    assert one.color("keep-all") == OTHER_COLOR and one.color("retry") == COLORS[one.colors["retry"]]
    assert list(one.colors) == ["mask:keep=1", "retry"] and one.headline.startswith("Take mask: ")
    few = picture(run, policies=["retry"])
    assert few.labels == ("keep-all", "retry") and list(few.colors) == ["retry"]
    assert picture(run, "kept").advice.goal == "kept"  # type: ignore[union-attr]
    bare = Picture(run, one.pooled, None, one.labels, {})
    assert (bare.chosen, bare.mark, bare.headline) == (None, "", "Nothing to advise: only bounds ran.")
    assert title_of(run) == "Recorded transcripts"
    monkeypatch.setattr(run, "info", msgspec.structs.replace(run.info, complete=False, title="Files in /tmp"))
    assert title_of(run) == "Files in /tmp"
    assert one.many == "3 transcripts of a stopped run"


def test_the_largest_transcripts_come_first_as_far_as_there_is_room(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_transcripts(run) == ["t1", "t0", "t2"] and chosen_transcripts(run, "0") == ["t0"]
    # Ten calls each under three policies.
    for most, names in ((60, ["t1", "t0"]), (59, ["t1"]), (29, ["t1"])):
        monkeypatch.setattr(page_parts, "MOST_ROWS", most)
        assert chosen_transcripts(run) == names
    with pytest.raises(InputError, match="no transcript whose name holds 't9'"):
        chosen_transcripts(run, "t9")
    assert (page_parts.AT_ONCE, page_parts.MOST_EDITS, page_parts.TEXT_BUDGET) == (100_000, 20_000, 24_000_000)


def test_transcripts_are_read_as_many_together_as_have_room(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once, groups in ((1, [["t1"], ["t0"], ["t2"]]), (61, [["t1", "t0"], ["t2"]]), (1_000, [["t1", "t0", "t2"]])):
        monkeypatch.setattr(page_parts, "AT_ONCE", at_once)
        assert list(page_parts._groups(run, ["t1", "t0", "t2"])) == groups


def test_the_page_is_one_file_whose_scripts_are_known_by_their_digests(run: Run, tmp_path: Path) -> None:
    path = write_page(run, tmp_path / "a.html", word="t0", said=["<b>What to set</b>"])
    text = path.read_text()
    assert text == page(run, "dollars", "t0", ["<b>What to set</b>"]) and list(tmp_path.iterdir()) == [path]
    scripts = re.findall(r"<script>\n?(.*?)</script>", text, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts}
    assert digests & set(re.findall(r"'sha256-([^']+)'", text))
    data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
    assert data["verdict"] == ["<b>What to set</b>"] and "\\u003cb\\u003eWhat" in text and "<b>What" not in text
    assert [one["name"] for one in data["transcripts"]] == ["t0"] and len(parts(text)) == 1
    assert isinstance(data["more"], int) and data["tradeoff"]["tokens"]["lines"][0]["x"] == pytest.approx([5, 10])
