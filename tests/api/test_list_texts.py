"""Lists, whole: a row of each kind, and what people read in its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ctxsim.api import lists
from ctxsim.api.lists import KINDS, listed
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import agent_names, load_agent
from ctxsim.policies.agents.settings_file import settings_of
from ctxsim.report.sheet import Cell

FIFO = (
    "While the estimate is over `budget`, drop the oldest response with its results.\n\n"
    "Document 003, rejected option 1, with pairs kept whole. User texts and the newest exchange stay."
)
ONE_PROMPT = (
    "One user turn of sixty calls, one result each, sized as in sixty-calls, against a window of 80,000. Made for "
    "`ctxsim drive`:\nagents that look at their window between prompts alone don't look here before a request is "
    "refused. No rate limit."
)
ZERO = ("No request is refused for its size", "Take zero for missing, and count yourself.")
SEEN = (
    "pi, 2026-05-13: https://github.com/earendil-works/pi/issues/4497",
    "codex-router, 2026-08-08: https://github.com/duolahypercho/codex-router/issues/95",
)


@pytest.mark.parametrize(
    ("kind", "pattern", "columns", "row", "said"),
    [
        ("policies", "fifo", "name label mark family source version read about",
         ("fifo", "fifo:budget=<int>", "", "seeds", "document 003, rejected option 1", "", "", FIFO),
         ("fifo:budget=<int>", FIFO)),
        ("policies", "keep-all", "name label mark family source version read about",
         ("keep-all", "keep-all", "bound", "", "", "", "",
          'Sends the whole history. Document 001, "Problem": what happens without a policy.'),
         ("keep-all   (bound)", 'Sends the whole history. Document 001, "Problem": what happens without a policy.')),
        ("scenarios", "one-prompt", "name title policies about",
         ("one-prompt", "Sixty calls in one prompt, for agents that are driven",
          "keep-all drop-all token-budget head-tail summary mask:keep=10", ONE_PROMPT),
         ("one-prompt: Sixty calls in one prompt, for agents that are driven",
          ONE_PROMPT.replace("\n", " ")
          + "\npolicies: keep-all, drop-all, token-budget, head-tail, summary, mask:keep=10")),
        ("defects", "zero-usage", "defect title expected at_most mend reported",
         ("zero-usage", "An endpoint that reports no usage", ZERO[0], 0.0, ZERO[1], "\n".join(SEEN)),
         ("zero-usage: An endpoint that reports no usage",
          f"expected: {ZERO[0]}\nwhat would mend it: {ZERO[1]}\nreported: {SEEN[0]}\nreported: {SEEN[1]}")),
        ("columns", "calls.tokens_sent", "table column type kind unit meaning",
         ("calls", "tokens_sent", "int", "counted", "tokens",
          "input of the request that the policy sent, also if it was refused"),
         ("calls.tokens_sent   (int, counted, tokens)",
          "input of the request that the policy sent, also if it was refused")),
        ("columns", "table.usd", "table column type kind unit meaning",
         ("table", "usd", "", "modelled", "", "cost of all transcripts with known prices (heading: USD)"),
         ("table.usd   (modelled)", "cost of all transcripts with known prices (heading: USD)")),
    ],
)  # fmt: skip
def test_a_row_and_its_text(kind: str, pattern: str, columns: str, row: tuple[Any, ...], said: tuple[str, str]) -> None:
    found, texts = listed(kind, pattern)
    assert (found.name, found.title, found.notes) == (kind, "", ())
    assert [(one.name.replace(" ", "_"), one.left) for one in found.columns] == [
        (name, not n) for n, name in enumerate(columns.split())
    ]  # fmt: skip
    assert found.rows[0] == row and texts[0] == said and len(found.rows) == len(texts)


def test_an_agent_is_told_with_its_package() -> None:
    one = load_agent("codex")
    found, said = listed("agents", "codex")
    assert [column.name for column in found.columns] == ["agent", "version", "package", "installer", "date", "source"]
    assert found.rows == (("codex", one.version, "@openai/codex", "npm", str(one.date), one.source),)
    assert said == [(f"codex: @openai/codex@{one.version} (npm)", one.source)]
    assert [row[0] for row in listed("agents")[0].rows] == list(agent_names())


def test_settings_stand_below_their_agent() -> None:
    found, said = listed("settings", "kimi-cli")
    known = settings_of("kimi-cli")
    assert said[0] == (f"kimi-cli {known.version}, read on {known.read_on}: ~/.kimi/config.toml", "")
    assert [heading for heading, _ in said[1:]] == [f"{row[2]} = {row[11]}" for row in found.rows]
    assert said[1][1] == (
        "config.toml; share of the window; 0.5 to 0.99; refused outside\npolicy: kimi-cli:compaction_trigger_ratio\n"
        "installed: not yet seen"
    )
    # A name said whole is one agent's, a part of one is of all that it fits.
    assert {row[0] for row in listed("settings", "pi")[0].rows} == {"pi"}
    assert len({row[0] for row in listed("settings", "cli")[0].rows}) > 1


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two vendors with a few rules, and what is asked of them."""
    asked: list[str] = []

    def rule(
        vendor: str, section: str, name: str, value: str, model: str = "*", date: str | None = "2026-01-02"
    ) -> Any:
        return SimpleNamespace(
            vendor=vendor, section=section, rule=name, value=value, model=model, date=date, source=f"{section} page"
        )  # fmt: skip

    rules = [rule("ours", "cache", "kind", "prefix"), rule("other", "rate", "x", "1", "m-*"),
             rule("ours", "cache", "step", "64", date=None)]  # fmt: skip
    room = "ctxsim.simulator.provider"
    # First: what it imports is the real thing.
    monkeypatch.setattr(
        f"{room}.rule_table.rules_of", lambda name: asked.append(name) or ([] if "none" in name else rules)
    )  # fmt: skip
    monkeypatch.setattr(f"{room}.vendor.vendor_names", lambda: ["ours", "other"])
    monkeypatch.setattr(
        f"{room}.vendor.load_vendor", lambda name: SimpleNamespace(models=("a", "b") if name == "ours" else ())
    )  # fmt: skip
    return asked


def test_rules_stand_below_their_vendor_and_source(vendors: list[str]) -> None:
    found, said = listed("vendors", "our")
    assert vendors == ["*our*"]
    assert [one.name for one in found.columns] == ["vendor", "rule", "value", "model", "date", "source"]
    assert found.rows == (
        ("ours", "models", "a, b", "*", "", ""), ("ours", "cache.kind", "prefix", "*", "2026-01-02", "cache page"),
        ("ours", "cache.step", "64", "*", "", "cache page"),
        ("other", "models", "chosen by name only", "*", "", ""),
        ("other", "rate.x", "1", "m-*", "2026-01-02", "rate page"),
    )  # fmt: skip
    assert said == [
        ("ours", "models = a, b"), ("ours: cache page, as of 2026-01-02", "cache.kind = prefix"),
        ("ours: cache page", "cache.step = 64"), ("other", "models = chosen by name only"),
        ("other: rate page, as of 2026-01-02", "rate.x = 1  [m-*]"),
    ]  # fmt: skip
    listed("vendors", "m-1")
    assert vendors[1:] == ["m-1"], "a model's name is said whole"
    with pytest.raises(CtxsimError, match="no vendor fits 'none-such', and no vendor claims a model of that name"):
        listed("vendors", "none-such")


def test_tokenizers_say_which_is_the_usual_one() -> None:
    found, said = listed("tokenizers")
    assert [row for row in found.rows if row[1]] == [("o200k_base", True)] and ("cl100k_base", False) in found.rows
    assert [one.name for one in found.columns] == ["name", "default"] and said == [] and len(found.notes) == 1


def test_a_projects_settings_are_told_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    found, said = listed("config", "window")
    assert found.title == "No ctxsim.toml and no [tool.ctxsim] in a pyproject.toml here" and said == []
    assert found.rows == (("window", Cell(None, "-"), "the provider's window in tokens"),)
    (tmp_path / "ctxsim.toml").write_text("window = 9000\npolicies = ['mask', 'fifo:budget=9']\n")
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    found, _ = listed("config", "*o*")
    rows = {row[0]: row[1] for row in found.rows}
    assert found.title == "From ../ctxsim.toml" and rows["window"] == Cell(9_000, "9000")
    assert rows["policies"] == Cell(["mask", "fifo:budget=9"], "mask\nfifo:budget=9") and rows["goal"] == Cell(
        None, "-"
    )
    assert [(one.name, one.heading, one.left) for one in found.columns] == [
        ("setting", "setting", True), ("value", "value", True), ("about", "what", True)
    ]  # fmt: skip
    # A file that no command accepts is told all the same: what it says, and what is wrong with it.
    (tmp_path / "ctxsim.toml").write_text("policies = ['mine.py:FirstLine']")
    found, _ = listed("config", "policies")
    assert "'mine.py:FirstLine' would run code" in found.title and found.rows[0][1].text == "mine.py:FirstLine"
    (tmp_path / "ctxsim.toml").write_text("colour = 1")
    found, _ = listed("config")
    assert found.title.endswith("unknown field `colour`") and "goal" in {row[0] for row in found.rows}


def test_models_are_told_with_what_stands_in_for_a_tokenizer() -> None:
    found, said = listed("models", "anthropic.claude-3-haiku-20240307-v1:0")
    assert said == [] and found.title == "" and [one.left for one in found.columns] == [True, *[False] * 5, True, True]
    found, _ = listed("models", "gpt-4o-mini")
    rows = {row[0]: row for row in found.rows}
    row = rows["openai/gpt-4o-mini"]
    # As OpenAI sells it: 0.15 and 0.60 USD per million, 0.075 from the cache, which costs nothing to write.
    assert (row[1], row[2], row[4], row[5]) == (
        Cell(128_000, "128,000"), Cell(0.15, "0.15"), Cell(0.075, "0.075"), Cell(0.6, "0.6")
    )  # fmt: skip
    assert row[6:] == ("openai", "o200k_base")
    assert found.notes[0].startswith("prices: genai-prices ")
    with pytest.raises(CtxsimError, match="no model fits 'gpt4'; did you mean gpt-4"):
        listed("models", "gpt4")


def test_what_a_policy_that_can_not_be_used_is_told() -> None:
    @dataclass
    class Mine:
        """First
        line.

        Second.
        """

        family: ClassVar = "own"
        source: ClassVar = "a page"
        version: ClassVar = "1.2"
        read_on: ClassVar = "2026-01-02"

    found, said = lists._classes("policies", "m*", {"mine": Mine, "other": Mine}, {"bad": "it raises"})
    assert found.rows == (
        ("mine", "mine", "", "own", "a page", "1.2", "2026-01-02", "First\nline.\n\nSecond."),
        ("bad", "bad", "can't be used", "", "", "", "", "it raises"),
    )  # fmt: skip
    assert said == [("mine", "First line.\n\nSecond."), ("bad   (can't be used)", "it raises")]


def test_formats_are_told_with_what_is_read_and_what_is_not() -> None:
    found, said = listed("formats", "codex-rollout")
    (row,) = found.rows
    assert [one.name for one in found.columns] == ["format", "title", "versions", "reads", "not read", "docs"]
    assert said == [(f"codex-rollout: {row[1]}, {row[2]}", f"reads: {row[3]}\nnot read: {row[4]}\n{row[5]}")]
    assert row[1] == "Codex CLI rollout" and row[5].startswith("https://") and len(KINDS) == 12
