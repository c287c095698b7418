"""All changes that are offered for some sessions, in groups; and prices and facts that are kept for the next time."""

from __future__ import annotations

import os
from datetime import date, time
from functools import partial
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from billed import PRICES, RATES, response, session

from ctxsim.answers.bill import index as room
from ctxsim.answers.bill.changes import Effect, as_recorded
from ctxsim.answers.bill.dollars import NOTHING, Paid, PriceList, listed
from ctxsim.answers.bill.facts import Rates
from ctxsim.answers.bill.index import Index, Known, add, key_of, known, load, place, save, version
from ctxsim.answers.bill.offers import BY_HAND, Offer, offers
from ctxsim.answers.bill.smaller import smaller
from ctxsim.answers.bill.sums import billed
from ctxsim.counting.tokenizers import DATED
from ctxsim.policies.agents.given import Given
from ctxsim.readers.source import Source
from ctxsim.readers.source.placed import Placed
from ctxsim.simulator.provider.models import Model
from ctxsim.simulator.provider.prices import Hours, Prices

SESSIONS = (
    session(response(0, 1_100), response(1_100, 50, compacted=1), chars_per_token=3.5,
            parts=("head, not in the log", "head, MCP server b", "head, MCP server a")),
    session(response(0, 3_000, compacted=1), response(0, 100, model="x-cheap"), name="t", version="2.1.9",
            chars_per_token=2.5),
    session(response(0, 100), name="c", format="codex-rollout", version="0.140.0"),
)  # fmt: skip


def told(offer: Offer) -> tuple[object, ...]:
    change: Any = offer.change
    given = change.args if isinstance(change, partial) else ()
    return offer.name, offer.order, (getattr(change, "func", change).__name__, *given), offer.how, offer.formats


def setting(key: str, value: int, order: int, change: tuple[object, ...], file: str, agent: str) -> tuple[object, ...]:
    how = f'"{key}": {value}' if file.endswith("json") else f"{key} = {value}"
    return f"{key} = {value}", order, change, variable(key, value) if key.isupper() else f"{how} in {file}", (agent,)


def variable(key: str, value: int) -> str:
    return f'"env": {{ "{key}": "{value}" }} in ~/.claude/settings.json'


def test_all_that_can_be_changed_is_offered_in_groups() -> None:
    found = [
        list(map(told, group)) for group in offers(billed(SESSIONS, PRICES, None), PRICES, {"CLAUDE.md": 60}, None)
    ]
    claude, codex = ("~/.claude/settings.json", "claude-code"), ("~/.codex/config.toml", "codex-rollout")
    # Claude Code compacts 33,000 tokens below its window; what was left by two compactions beside the head is 1,050 and
    # 2,900 tokens: 1,975. Characters are 3 a token, the median of two sessions. Codex has left nobody knows what.
    assert found == [
        [("a new session per task", 4, ("new_session_per_task",), "/clear or /new",
          BY_HAND)],
        [("memory files half as long", 2, ("head_shorter", {"s": 30, "t": 30}), "shorten them by half", ())],
        *([(f'MCP server "{one}" off', 1, ("without_server", one), f"take {one} out of the agent's MCP settings", ())]
          for one in "ab"),
        [setting("autoCompactWindow", size, 5, ("compacted_at", size - 33_000, 1_975), *claude)
         for size in (100_000, 150_000, 200_000, 250_000, 300_000, 400_000)],
        [setting("bashOutputMaxChars", size, 3, ("results_cut", tokens, "Bash"), *claude)
         for size, tokens in ((4_000, 1_333), (8_000, 2_667), (16_000, 5_333))],
        [setting("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", size, 3, ("results_cut", size, "Read"), *claude)
         for size in (2_500, 5_000, 10_000)],
        [("one-hour cache", 7, ("hour_long_cache",), variable("ENABLE_PROMPT_CACHING_1H", 1), ("claude-code",)),
         ("five-minute cache", 7, ("five_minute_cache",), variable("FORCE_PROMPT_CACHING_5M", 1), ("claude-code",))],
        [setting("model_auto_compact_token_limit", size, 5, ("compacted_at", size, 5_000), *codex)
         for size in (50_000, 100_000, 150_000, 200_000)],
        [setting("tool_output_token_limit", size, 3, ("results_cut", size, ""), *codex)
         for size in (2_500, 5_000, 10_000)],
        [("pauses within the cache's life", 6, ("read_after", inf),
          "answer sooner, or begin a new session after a pause", BY_HAND)],
        [("x-cheap for most", 8, ("other_model", "x-dear", "x-cheap", 1.0, False), "/model x-cheap", ())],
        [("x-cheap for sub-agents", 8, ("other_model", "x-dear", "x-cheap", 1.0, True),
          "model: x-cheap in the sub-agent's settings", ())],
    ]  # fmt: skip
    assert smaller(billed(SESSIONS, PRICES, None), PRICES, {"CLAUDE.md": 60}).tried == sum(map(len, found))
    assert [smaller(billed(some, PRICES, None), PRICES).settings for some in (SESSIONS, [])] == [True, False]


@pytest.mark.parametrize(("versions", "reserve"), [
    (["2.1.19", "2.1.2"], 32_000), (["2.1.20-beta.1", "2.1.19", "nightly"], 20_000), (["nightly"], 20_000),
])  # fmt: skip
def test_the_newest_version_says_where_it_compacts(versions: list[str], reserve: int) -> None:
    own = [session(response(0, 1_100), name=one, version=one) for one in versions]
    every = [one for group in offers(billed(own, PRICES, None), PRICES, {}, None) for one in group]
    (limit,) = (told(one)[2][1] for one in every if one.name == "autoCompactWindow = 100000")  # type: ignore[index]
    # Up to 2.1.19 more is kept for an answer, and 13,000 beside it.
    assert limit == 100_000 - reserve - 13_000


def test_who_answers_by_program_is_told_nothing_about_sessions_and_pauses() -> None:
    assert {"claude-code", "codex-rollout", "cline", "pi"} <= set(BY_HAND) and "mini-swe-agent" not in BY_HAND
    # A new turn that leaves 8,000 tokens behind, and 8,000 written again after a pause.
    tokens = (response(0, 9_000), response(0, 9_000, turn=True, fresh=10, missed=8_000, cause=1, pause_s=400.0))
    for format, names in (("claude-code", 2), ("mini-swe-agent", 0)):
        found = smaller(billed([session(*tokens, format=format)], PRICES, None), PRICES)
        assert sum("session" in one.name or "pauses" in one.name for one in found.savings) == names


@pytest.mark.parametrize(("version", "key"), [("2.1.32", "BASH_MAX_OUTPUT_LENGTH"), ("2.1.330", "bashOutputMaxChars")])
def test_a_setting_is_called_as_the_newest_version_knows_it(version: str, key: str) -> None:
    own = [msgspec.structs.replace(one, version=version) for one in SESSIONS]
    names = [one.name for group in offers(billed(own, PRICES, None), PRICES, {}, None) for one in group]
    assert [name for name in names if name.lower().startswith("bash")] == [f"{key} = {n}" for n in (4000, 8000, 16000)]


def test_what_an_offer_costs_in_words() -> None:
    every = [one for group in offers(billed(SESSIONS, PRICES, None), PRICES, {"CLAUDE.md": 60}, None) for one in group]
    assert {one.name.partition(" = ")[0]: one.loses(Effect(2, 40, 3)) for one in every} == {
        "a new session per task": "5% of turns used nothing older",
        "memory files half as long": "30 tokens of instructions",
        'MCP server "a" off': "used in 2 of 40 transcripts", 'MCP server "b" off': "used in 2 of 40 transcripts",
        **dict.fromkeys(("autoCompactWindow", "bashOutputMaxChars", "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS",
                         "model_auto_compact_token_limit", "tool_output_token_limit"),
                        "keeps about 92% of what was used"),
        "one-hour cache": "none; 2 pauses keep the cache", "five-minute cache": "2 pauses lose the cache",
        "pauses within the cache's life": "2 of your pauses must be shorter",
        "x-cheap for most": "another model's answers", "x-cheap for sub-agents": "another model's answers",
    }  # fmt: skip
    assert [one.given for one in every if one.keeps][:1] == [Given("claude-code", "autoCompactWindow", 100_000)]
    assert all((one.given is not None) == one.keeps for one in every)


def test_models_of_another_maker_or_as_dear_are_not_offered() -> None:
    # Dearest is what most was paid for, by its output; names are of a maker up to the first dash.
    rates = {"x-dear": 50.0, "x-same-20260101": 49.0, "y-cheap": 1.0, "x-alike": 50.0, "vendor/x-low": 2.0}
    prices: Any = SimpleNamespace(
        of=lambda model, time_s, served="": Rates(*[rates[model] * 1e6] * 5) if model in rates else None
    )
    made = session(response(0, 9_000), *(response(0, 10, model=name) for name in [*list(rates)[1:], "none"]))
    names = [one.name for group in offers(billed([made], prices, None), prices, {}, None) for one in group]
    assert [name for name in names if name.endswith("for most")] == ["x-same for most", "vendor/x-low for most"]
    assert DATED.sub("", "claude-haiku-4-5-20251001") == "claude-haiku-4-5"
    # Without a price nothing is cheaper, and without sessions nothing is dear.
    bare = billed([session(response(0, 9_000, model="none"), response(0, 10, model="y-cheap"))], prices, None)
    assert not [one for group in offers(bare, prices, {}, None) for one in group if "model" in one.how]
    assert [one.name for group in offers(billed([], prices, None), prices, {}, None) for one in group] == [
        "a new session per task", "pauses within the cache's life",
    ]  # fmt: skip


def test_a_request_costs_by_its_classes() -> None:
    one = response(100, 50, long=20, plain=7)
    # 100 read at 1, 30 written at 10, 20 for an hour at 20, 7 plain at 5, 10 answered at 50.
    assert listed(one, RATES["x-dear"]) == Paid(100.0, 700.0, 35.0, 500.0, "listed")
    assert listed(as_recorded(session(one))[0], RATES["x-dear"]).usd == 1_335
    assert listed(one, None) == NOTHING == Paid(0.0, 0.0, 0.0, 0.0, "") and NOTHING.usd == 0


@pytest.mark.parametrize(
    ("tokens", "read", "output"), [(199_999, 0.3, 15.0), (200_000, 0.3, 15.0), (200_001, 0.6, 22.5)]
)
def test_larger_requests_have_their_own_rates(tokens: int, read: float, output: float) -> None:
    rates = Rates(((0, 0.3), (200_000, 0.6)), 3.75, 6.0, 3.0, ((0, 15.0), (200_000, 22.5)))
    assert rates.at(tokens) == pytest.approx((read / 1e6, 3.75e-6, 6e-6, 3e-6, output / 1e6))
    assert rates.at(0)[0] == pytest.approx(0.3e-6)


def test_prices_are_looked_up_once_a_day_and_again_in_another_list() -> None:
    index = Index()
    prices = PriceList(index)
    noon = 1_767_614_400.0
    known = Rates(0.5, 2.0, 2.0, 2.0, 8.0, 0.01)
    assert prices.of("gpt-4.1", noon) == known and prices.changed
    # What isn't written at a price of its own costs what input does; a model that nobody lists has no price.
    assert prices.of("gpt-4.1", None) == known and prices.of("nobody", noon) is None and prices.of("", noon) is None
    assert index.rates == {"gpt-4.1|20458d": known, f"gpt-4.1|{date.today()}d": known, "nobody|20458d": None}
    sonnet = prices.of("claude-sonnet-4-5", noon)
    assert sonnet is not None and sonnet.at(1) == pytest.approx((0.3e-6, 3.75e-6, 6e-6, 3e-6, 15e-6))
    again = PriceList(index)
    assert again.of("gpt-4.1", noon + 3_600) == known and not again.changed
    other = PriceList(msgspec.structs.replace(index, priced_by="genai-prices 0"))
    assert other.of("gpt-4.1", noon) == known and other.changed
    # Some prices are those of half an hour.
    kept = Index(priced_by=index.priced_by, rates={"m|982007": known})
    assert PriceList(kept).of("m", 982_007 * 1_800.0 + 1_799) == known
    assert PriceList(kept).of("m", 982_008 * 1_800.0) is None


@pytest.mark.parametrize(("time_s", "price"), [(None, 2.0), (0.0, 1.0), (3_599.0, 1.0), (3_600.0, 2.0)])
def test_a_price_by_the_hour_is_that_of_its_hour_if_the_hour_is_known(
    time_s: float | None, price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Half of it from midnight until one.
    night = Hours(time(0), time(1), Prices(1.0, 4.0))
    found = Model("m", prices=Prices(2.0, 8.0, hours=(night,)))
    monkeypatch.setattr("ctxsim.simulator.provider.models.find_model", lambda *given, **more: found)
    assert PriceList(Index()).of("m", time_s) == Rates(price, price, price, price, 4 * price)


def test_an_index_is_of_its_version_and_written_for_its_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = place()
    assert file == tmp_path / "cache" / "ctxsim" / "bill" / "facts.msgpack"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place() == tmp_path / ".cache" / "ctxsim" / "bill" / "facts.msgpack"
    assert load(file) == Index()
    facts = {"!!": Known(((1, 2),), SESSIONS)}
    index = Index(files={str(tmp_path): facts}, priced_by="p")
    # What is known of a file goes when the file does.
    save(file, msgspec.structs.replace(index, files={**index.files, str(tmp_path / "gone"): facts}))
    assert load(file) == index and file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    save(file, msgspec.structs.replace(index, version="older"))
    assert load(file) == Index()
    # A folder that can't be written keeps none, and nobody is told.
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("")
    save(file, index)
    assert load(file) == Index()


def test_an_index_is_of_the_code_that_extracted_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "__file__", str(tmp_path / "answers" / "bill" / "index.py"))
    versions = [version.__wrapped__()]
    for name in (
        "answers/bill/a.py",
        "readers/formats/b.py",
        "simulator/provider/c.toml",
        "report/d.py",
        "readers/e.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        for text in ("a", "ab"):
            (tmp_path / name).write_text(text)
            versions.append(version.__wrapped__())
    assert len({*versions}) == 9 and len({*versions[8:]}) == 1, "on what is no code nothing depends"


def taken(index: Index, source: Source) -> bool:
    """Whether the index has a source's sessions. If not, they are added."""
    key = key_of(source)
    found = known(index, key)
    assert found in (None, SESSIONS[:1])
    if found is None:
        add(index, key, SESSIONS[:1])
    return found is not None


def test_facts_are_read_again_where_a_file_or_what_lies_beside_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_text("one")
    index = Index()
    source = Source(str(file), path=file)
    assert not taken(index, source) and taken(index, Source(str(file), path=file))
    # Another column, a copy of its member, or a reader is something else; a reader of the user's own may have changed.
    assert not taken(index, Source(str(file), path=file, column="text"))
    for copy in ("first", "second"):
        member = Placed("a.db!b", f"{copy}/", "a.db!", archive=file, path=tmp_path / copy)
        assert taken(index, member) is (copy == "second"), "wherever the copy is"
        # What is in no file of the user's is copied from elsewhere, and may be another by now.
        assert not taken(index, Placed("s3://b", f"{copy}/", "s3://", path=file))
    own = Source(str(file), path=file)
    own.reader = "mine.py"
    assert not taken(index, own) and not taken(index, own)
    os.utime(file, ns=(1, 1))
    assert not taken(index, source) and taken(index, source)
    # The key is of the time before the file is read: what is written meanwhile is read the next time.
    key = key_of(source)
    (tmp_path / "a.db-wal").write_text("more")
    assert add(index, key, SESSIONS[:1]) and not taken(index, source)
    # What has no file is read each time, and all that a folder holds counts.
    for _ in range(2):
        assert not taken(index, Source("stdin", data=b""))
    folder = Source("folder", path=tmp_path)
    assert not taken(index, folder) and taken(index, folder)
    (tmp_path / "b").write_text("")
    assert not taken(index, folder) and list(map(len, index.files.values())) == [3, 1]


def test_a_file_whose_name_is_no_unicode_is_read_each_time_and_the_others_are_kept(tmp_path: Path) -> None:
    file, index = tmp_path / "index", Index()
    for name in ("a.jsonl", "n\udcffm.jsonl"):
        (tmp_path / name).write_text("one")
        taken(index, Source(name, path=tmp_path / name))
    assert not add(index, key_of(Source(name, path=tmp_path / name)), SESSIONS[:1])
    save(file, index)
    assert load(file).files.keys() == {str(tmp_path / "a.jsonl")}
