"""README and docs: their examples run, their sentences are short, and their numbers agree."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml

import ctxsim
from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.verdict import verdict
from ctxsim.cli.report import command as report
from ctxsim.policies import Surroundings, open_policies, open_policy, registered_policies
from ctxsim.report.page_parts import MOST_ROWS
from ctxsim.results import read_run
from evidence.agents import equality, listing, table
from evidence.environment import SERVES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(autouse=True)
def same_policies_afterwards() -> Iterator[None]:
    """A policy that an example defines is known to no other test."""
    known = registered_policies()
    before = dict(known)
    yield
    known.clear()
    known.update(before)
    open_policies.cache_clear()


def blocks(page: Path) -> list[str]:
    """A page's Python examples."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def run_all(sources: list[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    """Run pieces of Python one after another in an empty folder, and return what they print."""
    monkeypatch.chdir(folder)
    # Classes look their annotations up in the module that they were defined in.
    names: dict[str, Any] = {"__name__": "__main__"}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for source in sources:
            exec(compile(source, "<example>", "exec"), names)
    return out.getvalue()


def test_the_examples_of_the_python_page_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checked_at_once: None
) -> None:
    page = DOCS / "python.md"
    printed = run_all(blocks(page), monkeypatch, tmp_path)
    said = re.findall(r"  # ([\d. ]+)$", page.read_text(), re.MULTILINE)
    assert len(said) == 2 and "\n".join(said) in printed
    assert "a1007" in printed
    written = {"growth.png", "run.png", "session.json", "results", "calibration.json"}
    assert {path.name for path in tmp_path.iterdir()} == written


def shown(source: str, names: dict[str, Any]) -> dict[str, str]:
    """Run a cell as a notebook does, and return its last expression as text, and as HTML where it has such a form."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if not isinstance(last, ast.Expr):
        return {}
    value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    html = getattr(value, "_repr_html_", lambda: None)()
    return {"text/plain": repr(value)} | ({"text/html": html} if html else {})


def test_the_notebook_runs_and_its_outputs_are_current(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = DOCS / "quickstart.ipynb"
    assert page.stat().st_size < 300_000
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    kinds = set()
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            (output,) = cell["outputs"]
            kinds |= set(output["data"])
            # What pandas shows where there is no terminal.
            with pandas.option_context("display.max_columns", 20, "display.width", 80):
                made = shown("".join(cell["source"]), names)
            stored = {form: "".join(text) for form, text in output["data"].items() if form != "image/png"}
            assert made == stored, "run the notebook and store it: docs/development.md"
    assert kinds == {"text/plain", "text/html", "image/png"}


def test_the_worked_example_of_the_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = DOCS / "bounds.md"
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.chdir(tmp_path)
    exec(compile((DOCS / "examples" / "orders.py").read_text(encoding="utf-8"), "<example>", "exec"), names)
    run = names["run"]
    for name, label in zip(("keep-all", "oracle-lossless", "drop-all"), run.labels, strict=True):
        sent = run.table("calls", policy=[label]).tokens_sent
        assert f"| `{name}` | {' | '.join(map(str, sent))} | {sent.sum()} |" in text
    for level, shown_as in ((0.0, "36"), (0.5, "36 + 450 = 486"), (1.0, "36 + 450 + 500 = 986")):
        results, anything = names["frontier"].loc[level, ["results", "any"]]
        assert results == pytest.approx(float(shown_as.split()[-1]), abs=0.1)
        assert f"| {level:.0%} | {shown_as} | {anything:.0f} |".replace("%", " %") in text
    sizes = run.table("items").set_index("item").tokens
    assert [sizes[place] for place in (2, 4, 6, 8)] == [150, 250, 2, 1]


def test_the_policy_in_the_tutorial_saves_tokens() -> None:
    text = next(block for block in blocks(DOCS / "tutorial.md") if "(Policy)" in block)
    assert len(text.splitlines()) < 25
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(text, names)
    made = ctxsim.replay("documented-53k", names["FirstLine"]()).summary
    assert made.compactions > 0 and made.tokens_sum < made.tokens_full_sum


def test_the_answer_in_the_readme_is_the_committed_runs() -> None:
    run = read_run(ROOT / "results" / "documented-53k")
    said = " ".join(verdict(advise(run), run.info.shown))
    assert f"```text {said} ```" in " ".join((ROOT / "README.md").read_text().split())


def test_the_claim_about_dollars_in_the_readme() -> None:
    row = ctxsim.replay("documented-53k-cached", "token-budget").summary
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"sends {1 - row.tokens_sum / row.tokens_full_sum:.0%} fewer".replace("%", " %") in text
    assert f"costs {row.cost_vs_keep_all - 1:.0%} more".replace("%", " %") in text


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

MOST_CHARS, MOST_WORDS = 120, 20


def paragraphs(text: str) -> Iterator[str]:
    """A page's paragraphs and list items: without code, tables, headings and pictures."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    kept = (line if not line.startswith(("|", "#", "!", "    ")) else "" for line in text.splitlines())
    for block in re.split(r"\n\s*\n|\n\s*(?=(?:-|\d+\.) )", "\n".join(kept)):
        if words := re.sub(r"^\s*(?:-|\d+\.) ", "", block).split():
            yield " ".join(words)


def sentences(text: str) -> list[str]:
    """A sentence ends at a full stop, or with its paragraph."""
    return [one for block in paragraphs(text) for one in re.split(r"(?<=[.?!])[*)]* (?=[A-Z`*\[(\d])", block)]


def test_the_measure_of_sentences() -> None:
    text = "# No\n\nOne two. Three `a.b` four:\n\n- five\n- six, 1.5 seven.\n\n| no | no |\n```sh\nno\n```\n"
    assert sentences(text) == ["One two.", "Three `a.b` four:", "five", "six, 1.5 seven."]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_and_sentences_are_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    long = [line for line in text.splitlines() if len(line) > MOST_CHARS and not line.startswith("|") and " " in line]
    assert not long
    words = [len(one.split()) for one in sentences(text)]
    assert sum(words) / len(words) <= MOST_WORDS


def without_code(page: Path) -> list[str]:
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE).splitlines()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md"], ids=lambda page: page.name)
def test_tables_and_lists_hold_together(page: Path) -> None:
    lines = without_code(page)
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if line.startswith("|") and not before.startswith("|"):
            assert not before and re.fullmatch(r"\|(?: ?:?-+:? ?\|)+", after), f"no header: {line}"
            columns = after.count("|")
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) == columns, line
        if re.match(r"- |\d+\. ", line) and before:
            assert re.match(r" |- |\d+\. ", before), f"a list needs an empty line before it: {line}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_every_page_is_in_the_sites_navigation() -> None:
    """Under one of four purposes, or the first page."""
    text = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(text.partition("\nnav:\n")[2])
    purposes = {name: {page for one in pages for page in (one.values() if isinstance(one, dict) else [one])}
                for part in nav for name, pages in part.items()}  # fmt: skip
    assert list(purposes) == ["Start", "Tutorial", "How to", "Reference", "Explanation"]
    assert {page.name for page in DOCS.glob("*.md")} <= set().union(*purposes.values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_only_what_ships(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"\b[Ss]eeds? 00\d|DESIGN", text)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    # Modules and files that a page names in code are there.
    for name in re.findall(r"`((?:ctxsim|docs|evidence|tests|scenarios)/[\w/.-]+\.\w+)`", text):
        assert (ROOT / name).exists() or "NAME" in name, name


def test_every_public_function_is_on_the_python_page() -> None:
    told = set(re.findall(r"^\| (.*?) \|", (DOCS / "python.md").read_text(), re.MULTILINE))
    named = {name for cell in told for name in re.findall(r"`(\w+)", cell)}
    # Types of what is returned or given are told with the functions.
    kinds = {name for name in ctxsim.__all__ if name[0].isupper()}
    assert set(ctxsim.__all__) - kinds <= named and named <= set(ctxsim.__all__)


def test_the_page_of_policies_names_what_a_class_may_use() -> None:
    text = (DOCS / "policy-protocol.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (`.*?) \|", text.partition("## A Python class")[2].partition("\n## ")[0], re.MULTILINE)
    named = {name for cell in table for name in re.findall(r"`(?:view\.|self\.sees\.)?(\w+)", cell)}
    assert named <= {*dir(ctxsim.Policy), *dir(ctxsim.View), *Surroundings.__dataclass_fields__, "estimate"}
    assert {"before_call", "on_overflow", "retries", "partners", "summarize", "head"} <= named


def number(page: str, pattern: str) -> str:
    """The one number that a page says in some words."""
    found = set(re.findall(pattern, " ".join((ROOT / page).read_text(encoding="utf-8").split())))
    assert len(found) == 1, (page, pattern, found)
    return str(found.pop())


def test_numbers_agree_between_pages() -> None:
    readme, performance = "README.md", "docs/performance.md"
    hours = number(performance, r"A million take (\d+) hours on one core")
    assert number(readme, r"A million transcripts .*? take about (\d+) hours on one core") == hours
    a_second = int(number(performance, r"one core does (\d+) recorded transcripts a second"))
    assert round(1e6 / a_second / 3600) == int(hours)
    recordings = {number(page, r"(\d{3}) record(?:ed|ings)") for page in (readme, "docs/estimates.md", performance)}
    assert len(recordings) == 1
    mape, unsafe = re.findall(r"\| `chars` .*?\| ([\d.]+) % .*? \| ([\d.]+) % \| [\d.]+ % \|$",
                              (DOCS / "estimates.md").read_text(), re.MULTILINE)[0]  # fmt: skip
    said = number(readme, r"chars/4 is off by (\d+ % per request. For \d+ %) of requests, it misses")
    # 10.5 is 10 here: half to even.
    assert said == f"{round(float(mape))} % per request. For {round(float(unsafe))} %"


def test_how_large_a_run_fits_a_page_is_said_alike() -> None:
    for told in (str(report.help), (DOCS / "output.md").read_text(encoding="utf-8")):
        assert f"{MOST_ROWS:,}" in told and "thousand" not in told


def test_labels_are_shown_as_the_page_of_settings_says() -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    told = re.findall(r"--policy (\S+) +# shown \w+ (\S+?)(?:,\.\.\.)?$", page, re.MULTILINE)
    assert len(told) == 2
    for label, shown_as in told:
        assert open_policy(label).short.startswith(f"claude-code:{shown_as}")


def test_every_library_says_what_it_serves() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[<>=]", name)[0] for name in asked} == set(SERVES)


def test_the_page_of_agents_says_what_was_measured() -> None:
    page = (DOCS / "agents.md").read_text(encoding="utf-8")
    assert f"\n\n{table()}\n\n" in page
    frameworks = [name for name, cls in registered_policies().items() if cls.family == "frameworks"]
    settings = tomllib.loads((DOCS / "equality-frameworks.toml").read_text())
    equal, tried = (sum(settings[name]["messages"][side] for name in frameworks) for side in (0, 1))
    assert f"\n{len(frameworks)} policies copy compaction in frameworks" in page
    assert f"{equal:,} of {tried:,} requests are equal" in " ".join(page.split())
    equal, tried = (sum(one["messages"][side] for one in settings.values()) for side in (0, 1))
    told = " ".join((DOCS / "frameworks.md").read_text(encoding="utf-8").split())
    assert f"In {sum(len(one['runs']) for one in settings.values())} settings a policy was compared" in told
    assert f"{equal:,} of {tried:,} requests are equal" in told and f"the other {tried - equal} requests differ" in told
    for name in ("openhands", "swe-agent"):
        assert equality()[name]["messages"] == [268, 268]


def test_the_list_of_agents_says_all_of_a_policy() -> None:
    said = list(listing(["codex"]))
    assert said[0].startswith("codex: openai/codex") and "    recorded: 0 of 2" in said
    assert any("encrypted" in line for line in said) and len(said) < 8
    assert len(list(listing([]))) > 150


def test_equality_is_told_of_policies_that_exist() -> None:
    known = registered_policies()
    for name, said in equality().items():
        assert known[name].family in ("agents", "frameworks")
        assert all(0 <= pair[0] <= pair[1] for key, pair in said.items() if isinstance(pair, list) and key != "runs")
