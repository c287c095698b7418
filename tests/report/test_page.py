"""The HTML page in a real browser, with the network off, on an ordinary run and on a hostile transcript."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pages import in_browser, opened, parts, unfold, words_of
from samples import ASK, TASK, chat

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.verdict import verdict
from ctxsim.errors import InputError
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.report.cells import policy_sheet
from ctxsim.report.page import COLUMNS, page, write_page
from ctxsim.report.sheet import text_of
from ctxsim.results import read_run
from ctxsim.results.compactions import CompactionRow
from ctxsim.results.csv_text import write_table
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.synthesis import load_scenario
from ctxsim.transcript import Transcript

pytestmark = pytest.mark.slow


HOSTILE = (
    "<script>document.title='owned'</script>", "</script><script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "<a href='javascript:window.owned=1'>x</a>", "<!--<script>", "]]>", "@@DATA@@ @@JS@@",
    "\u2028\u2029\x00\x1b[31m\x07",
    "javascript:window.owned=1", "x" * 200_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    turns = [
        part for text in HOSTILE for part in (("tool_call", '{"a": "' + "zebra_one" + '"}'), ("tool_result", text))
    ]
    made = chat(
        TASK, ASK, ("tool_result", "zebra_two"), *turns, ("assistant", "zebra_two </script><script>owned=1</script>")
    )
    evil = "<img src=x onerror=window.owned=1></script>" + "averylongname" * 8
    named = Transcript(evil, made.head, tuple(item for item in made.items), made.calls)
    (folder / "evil.jsonl").write_bytes(b"\n".join(lines(named)))
    policies = ("keep-all", "mask:keep=1", "token-budget:budget=1,retain=30", "summary:at=0.01,keep_last=2")
    conduct(Setting("evil", evil, policies), folder / "out", paths=[str(folder / "evil.jsonl")])
    return write_page(read_run(folder / "out"), folder / "out" / "report.html")


def test_it_is_one_file_of_bounded_size(default: Path, hostile: Path) -> None:
    for path in (default, hostile):
        text = path.read_text()
        # A part of plotly is 1.1 MB.
        assert path.stat().st_size < 2_000_000
        assert not re.search(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(?:https?:)?//""", text)
        assert len(re.findall(r"<script[^>]*>", text.split("</style>", 1)[1])) >= 3


def test_no_text_leaves_its_json(hostile: Path) -> None:
    text = hostile.read_text()
    data = text.split('<script type="application/json" id="data">', 1)[1].split("</script>", 1)[0]
    assert not set("<>&\u2028\u2029\x00\x1b") & set(data)
    assert "owned" in data and page(read_run(hostile.parent)) == text
    # What is packed is of letters that mean nothing in HTML, and none of it stands outside.
    [part] = parts(text)
    assert "</script><script>window.owned=1" in part and "zebra" in words_of(hostile) and "zebra" not in text


@in_browser
def test_it_opens_from_disk_without_network_answers_sorts_and_draws(default: Path, documented: Any) -> None:
    run, tab = read_run(default.parent), documented
    # The answer comes first and is the one of the terminal.
    assert tab.locator("#verdict p").all_inner_texts() == verdict(advise(run), run.info.shown)
    top, chart = (tab.locator(one).bounding_box()["y"] for one in ("#verdict", "#chart-tradeoff"))
    assert top < 200 < chart
    cells = tab.locator("#table tbody tr.chosen td").all_inner_texts()
    [row] = policy_sheet(run, Pooled(run), ["max-result-chars:chars=20000"], COLUMNS).rows
    marked, *figures = [text_of(cell) for cell in row]
    assert cells == [f"▶ {marked}", *figures]
    assert not tab.locator("#recorded-section").is_visible() and not tab.locator("#recorded-link").is_visible()

    def column(n: int) -> list[str]:
        return tab.locator(f"#table tbody tr td:nth-child({n + 1})").all_inner_texts()

    assert len(column(0)) == len(load_scenario("documented-53k").policies)
    tab.locator("#table th button").nth(2).click()
    down = column(2)
    assert tab.locator("#table th").nth(2).get_attribute("aria-sort") == "descending"
    # By keyboard the other way.
    tab.keyboard.press("Enter")
    assert tab.locator("#table th").nth(2).get_attribute("aria-sort") == "ascending"
    numbers = [float(text.rstrip("%")) for text in column(2)]
    assert numbers == sorted(numbers) and down != column(2)
    for name in ("tradeoff", "growth", "dollars", "age", "estimates", "cache"):
        chart = tab.locator(f"#chart-{name}")
        chart.scroll_into_view_if_needed()
        chart.locator("svg").first.wait_for()
        assert chart.locator("svg").count() >= 1, name
        shot = chart.screenshot()
        assert len(set(shot)) > 50 and len(shot) > 6_000, f"{name} is blank"
    # The whole table is in view, and what limits requests is named where no line crosses it.
    assert tab.evaluate("(box => box.scrollWidth === box.clientWidth)($('table').parentNode)")
    named = tab.locator("#chart-growth .legendtext").all_text_contents()
    assert named[-2:] == ["rate limit per minute: 50,000", "budget: 40,000"]
    tab.evaluate("(opened.limits.push([45000, 'budget'], [40000, 'budget']), drawGrowth())")
    assert [*named[:-1], "budget: 40,000 to 45,000"] == tab.locator("#chart-growth .legendtext").all_text_contents()
    # Lines of a label end between parameters and after a long name.
    assert tab.evaluate("breakable('a:n=12,given=claude-code/autoCompactWindow=15').innerHTML").split("<wbr>") == [
        "a:", "n=12,", "given=claude-code/", "autoCompactWindow=", "15", ""
    ]  # fmt: skip
    # The canvas holds more than one colour.
    colours = tab.evaluate(
        "(() => { const c = document.querySelector('#canvas'), d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data, s = new Set();"
        "for (let i = 0; i < d.length; i += 4) s.add(d[i] + ',' + d[i+1] + ',' + d[i+2]); return s.size })()"
    )
    assert colours > 4
    # The numbers of many calls are whole and apart, the last one's too.
    numbers, end = tab.evaluate("""(() => {
        const pen = CanvasRenderingContext2D.prototype, write = pen.fillText, seen = [];
        grid.total = 125;
        drawTimeline();
        $("timeline").scrollLeft = 1e6;
        pen.fillText = function (text, x, y) {
            if (y === HEAD / 2 && text !== "call") seen.push([text, x, x + this.measureText(text).width]);
            write.call(this, text, x, y);
        };
        drawTimeline();
        pen.fillText = write;
        return [seen, $("canvas").clientWidth];
    })()""")
    assert numbers[-1][0] == "125" and numbers[-1][2] <= end
    assert all(one[2] < other[1] for one, other in pairwise(numbers))


@in_browser
def test_names_in_the_trade_off_stay_within_its_axes(documented: Any) -> None:
    # The point's range reaches far: beside it there is more room on the right, though all points are farther left.
    left, right, names = documented.evaluate("""(() => {
        const chart = data.tradeoff[state.axis], points = chart.points;
        chart.points = points.map((one) => ({ ...one, x: Math.min(one.x, 100) }));
        Object.assign(chart.points.find((one) => one.policy === state.policy), { x: 60, y: 0, reach: [190, 30] });
        const { name } = data.policies[state.policy];
        data.policies[state.policy].name += " + a name as long as a chain's";
        drawTradeoff();
        const box = (one) => { const { left, right } = one.getBoundingClientRect(); return [left, right]; };
        const axes = box(document.querySelector("#chart-tradeoff .nsewdrag"));
        const found = [...document.querySelectorAll("#chart-tradeoff .textpoint")].map(box);
        data.policies[state.policy].name = name;
        chart.points = points;
        drawTradeoff();
        return [...axes, found];
    })()""")
    assert names and all(left <= one[0] < one[1] <= right for one in names), (left, right, names)


def compacted(name: str) -> CompactionRow:
    """A recorded compaction of which only a few things are known."""
    unknown = ("seconds", "cost_summary_usd", "cost_cache_usd", "payback_calls", "reread_usd")
    values: dict[str, Any] = dict.fromkeys(CompactionRow.__struct_fields__, 0) | dict.fromkeys(unknown)
    values |= {"transcript": name, "root": name, "agent": "claude-code", "model": "", "started_by": "auto"}
    values |= {"compaction": 1, "tokens_before": 167_000, "share": 0.83, "needed_strict": 4, "kept_strict": 1}
    return CompactionRow(**values)


def test_a_damaged_table_of_compactions_is_told(hostile: Path, tmp_path: Path) -> None:
    shutil.copytree(hostile.parent, tmp_path / "run")
    (tmp_path / "run" / "compactions.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match="run ctxsim compactions again"):
        page(read_run(tmp_path / "run"))


@in_browser
def test_recorded_compactions_have_a_section_where_their_table_is(hostile: Path, tab: Any, tmp_path: Path) -> None:
    shutil.copytree(hostile.parent, tmp_path / "run")
    evil = "<img src=x onerror=window.owned=1>"
    write_table(tmp_path / "run", "compactions", CompactionRow, [compacted("session-1"), compacted(evil)])
    troubles = opened(tab, write_page(read_run(tmp_path / "run"), tmp_path / "run" / "report.html"))
    assert troubles == [] and tab.evaluate("window.owned") is None
    assert tab.locator("#recorded-link").is_visible()
    rows = tab.locator("#compactions tbody tr")
    cells = [rows.nth(n).locator("td").all_inner_texts() for n in range(2)]
    assert [row[0] for row in cells] == ["session-1 1", f"{evil} 1"]
    assert cells[0][4:6] == ["83%", "167.0K"] and cells[0][8] == "1/4"
    assert len(tab.locator("#compactions th").all()) == len(cells[0])
    assert "2 of 8 in all" in tab.locator("#recorded-means").inner_text()


@in_browser
def test_one_filter_for_all_and_the_address_keeps_what_is_looked_at(default: Path, tab: Any) -> None:
    troubles = opened(tab, default)
    tab.locator("#filter summary").click()
    tab.locator("#few").click()
    rows = tab.locator("#table tbody tr").count()
    tab.locator("#chart-growth").scroll_into_view_if_needed()
    assert rows == 10
    # A chart's legend has no more, but for the two limits of requests.
    for name in ("growth", "age", "estimates"):
        tab.locator(f"#chart-{name}").scroll_into_view_if_needed()
        tab.locator(f"#chart-{name} .legend .traces").first.wait_for()
        assert tab.locator(f"#chart-{name} .legend .traces").count() == rows + 2 * (name == "growth"), name
    # A click in a chart's legend is one on the filter of all.
    tab.locator("#chart-growth").scroll_into_view_if_needed()
    tab.locator("#chart-growth .legendtoggle").first.click()
    tab.locator("#table tbody tr").nth(9).wait_for(state="detached")
    assert tab.locator("#table tbody tr").count() == 9
    tab.locator("#table tbody tr button.name").nth(1).focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#policy").input_value() == "1"
    # Who chose by keyboard stays where he was, and the row says that it is looked at.
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert tab.locator("#table tr.selected").count() == 1
    tab.locator("#table th button").nth(2).click()
    tab.locator("#call").fill("5")
    tab.locator("#call").press("Enter")
    table = tab.locator("#table").inner_text()
    assert troubles == []
    troubles = opened(tab, default, address="#" + tab.url.partition("#")[2])
    assert tab.locator("#policy").input_value() == "1" and tab.locator("#call").input_value() == "5"
    assert tab.locator("#table").inner_text() == table
    assert tab.locator("#table th").nth(2).get_attribute("aria-sort") == "descending"
    assert troubles == []


@in_browser
def test_what_can_be_kept(documented: Any) -> None:
    tab = documented
    tab.locator("#policy").select_option(label="token-budget:budget=40000,retain=500")
    kept = {}
    for button in tab.locator("[data-csv]:visible, [data-png]:visible, #png-timeline").all():
        button.scroll_into_view_if_needed()
        with tab.expect_download() as download:
            button.click()
        kept[download.value.suggested_filename] = Path(download.value.path()).read_bytes()
    charts = {f"{name}.png" for name in ("tradeoff", "growth", "timeline", "dollars", "age", "estimates", "cache")}
    assert set(kept) == charts | {"calls.csv", "policies.csv", "edits.csv"}
    assert all(kept[name].startswith(b"\x89PNG") for name in charts)
    assert kept["policies.csv"].decode().count("\n") == 1 + 19 and kept["calls.csv"].decode().count("\n") == 1 + 19 * 7
    # No cell begins a formula; an error in percent is a number.
    cells = ["=1+1", "-2.5%", "+3", "-cmd", 4, 'a"b', "-", "-47% to 6", "-1 to cmd"]
    assert (
        tab.evaluate("csvOf", [cells]) == """"'=1+1","-2.5%","+3","'-cmd","4","a""b","-","-47% to 6","'-1 to cmd"\n"""
    )


@in_browser
def test_a_hostile_transcript_is_inert_and_its_long_words_break(hostile: Path, tab: Any) -> None:
    troubles = opened(tab, hostile, 390)
    tab.evaluate("drawStale([...stale])")
    assert tab.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth]") == [390, 390]
    tab.set_viewport_size({"width": 1280, "height": 900})
    for n in range(4):
        tab.locator("#policy").select_option(index=n)
        tab.locator("#call").fill("14")
        tab.locator("#call").press("Enter")
        unfold(tab)
    # From the last item of the last call to the first.
    for key, times in (("ArrowUp", 26), ("ArrowLeft", 14)):
        tab.locator("#canvas").evaluate(
            "(box, [key, times]) => { while (times--) box.dispatchEvent(new KeyboardEvent('keydown', { key })); }",
            [key, times],
        )
    assert tab.evaluate("typeof window.owned") == "undefined"
    assert "owned" not in tab.title().split("ctxsim")[1]
    assert tab.locator("main img, main a[href^=javascript], main script").count() == 0
    assert troubles == []
