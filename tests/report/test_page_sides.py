"""The page in a real browser: its timeline, its call as recorded and as sent, and that everybody can read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pages import as_shown, in_browser, opened, parts, unfold

from ctxsim.report import page_parts
from ctxsim.report.page import write_page
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.synthesis import load_scenario

pytestmark = [pytest.mark.slow, in_browser]

DIFFERENCES = """async () => {
  // By the page: recorded less sent tokens of each call, item by item; by the run: of whole requests.
  const found = [], whole = opened.calls[data.policies.findIndex((one) => one.label === "keep-all")].sent;
  for (const n of data.policies.keys()) {
    state.policy = n;
    buildGrid();
    for (let call = 1; call <= grid.total; call += 1) {
      let removed = 0;
      for (const row of grid.rows) {
        const span = spanAt(row, call);
        if (span) removed += (row.made ? 0 : row.tokens) - tokensAt(row, span);
      }
      found.push([data.policies[n].label, call, removed, whole[call - 1] - opened.calls[n].sent[call - 1]]);
    }
  }
  return found;
}"""


ANEW = ("keep-all", "swe-agent:n=1,polling=1", "langchain-clear:trigger=2000,keep=1", "head-tail:lines=2+swe-agent:n=1")
"""Policies that edit every request anew."""

NOW_AND_THEN = """
from dataclasses import dataclass, field

from ctxsim.policies import Policy


@dataclass
class NowAndThen(Policy):
    ephemeral = True
    calls: int = field(default=0, init=False)

    def before_call(self, view):
        self.calls += 1
        if self.calls % 3 == 0:
            return view
        return view.rewrite({item.place: "gone" for item in view.results}, "now and then")
"""


@pytest.fixture(scope="module")
def anew(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("anew") / "out"
    scenario = load_scenario("documented-53k")
    own = folder.parent / "own.py"
    own.write_text(NOW_AND_THEN)
    conduct(Setting(scenario.name, scenario.title, (*ANEW, f"{own}:NowAndThen")), folder, scenario)
    return write_page(read_run(folder), folder / "report.html")


def test_so_it_is_where_every_request_is_edited_anew(anew: Path, tab: Any) -> None:
    [part] = map(json.loads, parts(anew.read_text()))
    run = read_run(anew.parent)
    for n, label in enumerate(run.labels):
        # What is done again call after call is told once, with the call through which it is.
        told = [(call, edit[2]) for edit in part["edits"].get(str(n), []) for call in range(edit[0], edit[9] + 1)]
        events = run.table("events", policy=[label])
        assert sorted(told) == sorted(zip(events.call, events["item"], strict=True))
    assert sum(edit[9] > edit[0] for edits in part["edits"].values() for edit in edits) > 3
    troubles = opened(tab, anew)
    found = tab.evaluate(DIFFERENCES)
    assert sum(removed > 0 for _, _, removed, _ in found) > 8
    assert [one for one in found if one[2] != one[3]] == []
    assert troubles == []


def test_what_the_page_does_not_hold_is_told(anew: Path, tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_parts, "MOST_EDITS", 1)
    path = write_page(read_run(anew.parent), anew.parent / "short.html")
    troubles = opened(tab, path)
    tab.locator("#policy").select_option(index=1)
    tab.locator("#call").fill("7")
    tab.locator("#call").press("Enter")
    assert "The page holds this policy's first 1 edits" in tab.locator("#cell").inner_text()
    assert "the CSV has the first 1, events.parquet all" in tab.locator("#audit-note").inner_text()
    assert troubles == []


def test_one_call_as_recorded_and_as_sent(documented: Any) -> None:
    tab = documented
    tab.locator("#policy").select_option(label="token-budget:budget=40000,retain=500")
    # It begins where something was lost.
    assert tab.locator("#cell").inner_text().startswith("Call 7 of 7 under token-budget:budget=40000,retain=500")
    canvas = tab.locator("#canvas")
    canvas.focus()
    for _ in range(16):
        tab.keyboard.press("ArrowUp")
    for _ in range(3):
        tab.keyboard.press("ArrowDown")
    # Item 3 is the first result, cut after call 6, so short at call 7.
    pair = tab.locator("#sides .pair.chosen")
    head = pair.locator(".told").inner_text()
    assert head.startswith("item 3") and "cut" in head and "call 6, after_call" in head
    was, now = (pair.locator(f".{side} pre").inner_text() for side in ("was", "now"))
    assert now.endswith("[truncated for context management]") and len(was) > 1_000
    assert was.startswith(pair.locator(".was pre").evaluate("pre => pre.firstChild.textContent"))
    assert pair.locator("ins").inner_text() in now and pair.locator("del").inner_text() in was
    # The texts lie beside each other and scroll together.
    boxes = [pair.locator(f".{side}").bounding_box() for side in ("was", "now")]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    tab.locator("#sides").evaluate("box => box.scrollBy(0, 100)")
    moved = [pair.locator(f".{side}").bounding_box() for side in ("was", "now")]
    assert moved[0]["y"] == moved[1]["y"] != boxes[0]["y"]
    # On a phone they lie below each other.
    tab.set_viewport_size({"width": 390, "height": 900})
    below = """() => {
        const [was, now] = ["was", "now"].map((side) => document.querySelector(`#sides .pair.chosen .${side}`));
        const [first, second] = [was.getBoundingClientRect(), now.getBoundingClientRect()];
        return first.left === second.left && first.bottom <= second.top;
    }"""
    tab.wait_for_function(below, timeout=10_000)
    assert pair.locator(".which").all_inner_texts() == ["as recorded", "as sent"]
    # One call earlier nothing was cut yet.
    tab.locator("#earlier").click()
    assert tab.locator("#cell").inner_text().startswith("Call 6 of 7")
    assert "kept" in tab.locator("#sides .pair.chosen .told").inner_text()


def test_each_way_of_an_item_has_its_word_and_what_is_shown_as_sent_was_sent(documented: Any) -> None:
    tab = documented
    for label, said in (
        ("drop-all", "dropped"), ("mask:keep=2,batch=1", "cleared"), ("keep-all", "kept"),
        ("summary:at=0.2,keep_last=4,max_tokens=500", "summarised"),
    ):  # fmt: skip
        number = tab.evaluate("label => data.policies.findIndex((one) => one.label === label)", label)
        tab.locator("#policy").select_option(value=str(number))
        tab.locator("#call").fill("7")
        tab.locator("#call").press("Enter")
        assert f" {said}" in tab.locator("#cell").inner_text()
        unfold(tab)
        row = tab.locator(f"#sides .pair.{said}").first
        assert said in row.locator(".badge").inner_text()
        sent = row.locator(".now pre").inner_text()
        assert {"dropped": "not sent", "summarised": "the summary, item -2, stands for it"}.get(said, sent) in sent
    # The first summary was summarised itself.
    first = tab.locator("#sides .pair.summarised:has-text('item -1 ')")
    assert "a summary of 9 items" in first.inner_text() and "item -2, stands for it" in first.inner_text()
    made = tab.locator("#sides .pair.made")
    assert "nothing: a summary of" in made.inner_text() and len(made.locator(".now pre").inner_text()) > 100
    found = tab.evaluate(DIFFERENCES)
    assert len(found) == 19 * 7 and sum(removed > 0 for _, _, removed, _ in found) > 40
    assert [one for one in found if one[2] != one[3]] == []


def test_a_loss_a_found_text_and_a_click_lead_to_their_call(documented: Any) -> None:
    tab = documented
    tab.locator("#policy").select_option(label="token-budget:budget=40000,retain=500")
    tab.locator("#losses button").first.click()
    assert "this call needed something of it that is gone" in tab.locator("#sides .chosen .told").inner_text()
    tab.locator("#search").fill("linkedin")
    assert "items" in tab.locator("#hits-note").inner_text()
    tab.locator("#hits button").first.click()
    assert "linkedin" in tab.locator("#sides .chosen").inner_text().lower()
    # A row is tall enough to hit: 24 px, the least that WCAG 2.2 asks of a target (2.5.8).
    assert tab.evaluate("ROW") >= 24
    box = tab.locator("#canvas").bounding_box()
    tab.mouse.click(box["x"] + box["width"] - 30, box["y"] + 20 + 24 * 3 + 12)
    assert tab.locator("#sides .chosen .told").inner_text().startswith("item 3 ")
    assert tab.locator("#call").input_value() == "7"


def test_axe_finds_no_violation_and_nothing_is_wider_than_the_screen(default: Path, tab: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    troubles = opened(tab, default, 390)
    tab.locator("#policy").select_option(label="token-budget:budget=40000,retain=500")
    tab.locator("#search").fill("linkedin")
    tab.locator("#filter summary").click()
    tab.locator("#few").click()
    for width, scheme in ((900, "light"), (390, "dark"), (1400, "light")):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.evaluate("Object.values(CHARTS).forEach((one) => one())")
        # Nothing scrolls sideways but what says that it does, once charts have the new width.
        fits = "(width) => [document.documentElement, document.body].every((one) => one.scrollWidth === width)"
        tab.wait_for_function(fits, arg=width, timeout=10_000)
        light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (light == "rgb(255, 255, 255)") == (scheme == "light")
        # Between the two nothing stands otherwise than in one of them. Of what is drawn axe's rules say nothing.
        if width != 900:
            found = Axe().run(tab, {"exclude": [["svg"]]}, {"resultTypes": ["violations"]}).response["violations"]
            assert {one["id"]: [node["html"][:200] for node in one["nodes"]] for one in found} == {}
    assert troubles == []


def test_a_printed_page_has_no_part_over_another(documented: Any) -> None:
    as_shown(documented, 794)
    documented.emulate_media(media="print")
    ends = documented.evaluate("""[...document.querySelectorAll("section")].filter(one => one.offsetHeight).map(one =>
        [one.getBoundingClientRect().bottom, one.lastElementChild.getBoundingClientRect().bottom,
         one.lastElementChild.scrollHeight - one.lastElementChild.clientHeight])""")
    assert ends and all(inner <= outer + 1 and hidden <= 1 for outer, inner, hidden in ends), ends
