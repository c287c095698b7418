"""What estimators are made of: rounding, units, features, what they are by themselves, and what the contract asks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from samples import conversation

from ctxsim.counting.estimators import (
    Estimator,
    Reported,
    estimator_label,
    open_estimator,
    register,
    registered_estimators,
    registry,
)
from ctxsim.counting.estimators.calibrated import Calibrated, Calibration, Ratio
from ctxsim.counting.estimators.classes import FEATURES, features
from ctxsim.counting.estimators.contract import MORE, TEXTS, violations
from ctxsim.counting.estimators.estimator import divided, length
from ctxsim.counting.estimators.serialized import handed, if_json, parsed, written_again
from ctxsim.errors import CtxsimError, InputError, LabelError
from ctxsim.plugins.limit import VARIABLE
from ctxsim.transcript import Head, Item, Media, Usage

HEAD = Head("12345678", ("1234",), hidden=5)
IMAGE = (Media("image", 85),)


@pytest.mark.parametrize(
    ("size", "ceil", "floor", "rounded"),
    [(0, 0, 0, 0), (1, 1, 0, 0), (2, 1, 0, 1), (3, 1, 0, 1), (4, 1, 1, 1), (5, 2, 1, 1)],
)
def test_quarters_are_rounded_as_a_tool_rounds(size: int, ceil: int, floor: int, rounded: int) -> None:
    assert (divided(size, 4, "ceil"), divided(size, 4, "floor"), divided(size, 4, "round")) == (ceil, floor, rounded)


def test_lengths_by_unit() -> None:
    for text, points, utf16, size in (
        ("ab", 2, 2, 2),
        ("\u00e9", 1, 1, 2),
        ("\U0001f600", 1, 2, 4),
        ("\ud800", 1, 1, 3),
    ):
        assert (length(text, "points"), length(text, "utf16"), length(text, "bytes")) == (points, utf16, size)


@pytest.mark.parametrize(
    ("text", "found"),
    # Words, letters of words, letters beyond twelve of one, digits, signs, spaces beyond one, lines, CJK, others.
    [
        ("", (0, 0, 0, 0, 0, 0, 0, 0, 0)), ("ab cd", (2, 4, 0, 0, 0, 0, 0, 0, 0)),
        ("a" * 12, (1, 12, 0, 0, 0, 0, 0, 0, 0)),
        ("a" * 15 + " b", (2, 13, 3, 0, 0, 0, 0, 0, 0)), ("a1,2;\n", (1, 1, 0, 2, 2, 0, 1, 0, 0)),
        ("a   b  c\t\td", (4, 4, 0, 0, 0, 4, 0, 0, 0)), ("\u6570\u6570\u00e9\u00e9\u00e9", (0, 0, 0, 0, 0, 0, 0, 2, 3)),
    ],
)  # fmt: skip
def test_features_of_a_text(text: str, found: tuple[int, ...]) -> None:
    assert features(text) == found


def test_what_an_estimator_is_by_itself() -> None:
    @dataclass(frozen=True)
    class CountsWords(Estimator):
        def text(self, text: str) -> int:
            return len(text.split())

    @dataclass(frozen=True)
    class Named(CountsWords):
        name = "its-own"
        judged_at = ("", "a=1")

    words = CountsWords()
    assert (CountsWords.name, CountsWords.judged_at) == ("counts-words", ("",))
    assert (Named.name, Named.judged_at) == ("its-own", ("", "a=1"))
    assert words.item(Item("user", 0, 0, "a b", media=IMAGE)) == 87 and words.item(Item("user", 0, 0, "a b")) == 2
    assert words.item(Item("tool_call", 0, 0, "a b", "bash")) == 3
    assert words.head(HEAD) == 1 + 1 + 5 and words.request(HEAD, 7, (), Reported()) == 14
    assert not words.by_usage and open_estimator("usage-tail").by_usage and open_estimator("usage-serialized").by_usage
    # What counts responses by their own output goes by what was reported of each, not by usage.
    assert not open_estimator("output-only").by_usage
    assert Reported() == Reported(None, 0, {})

    class Adds(CountsWords):
        def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
            return reported.usage.input_tokens + reported.usage.output_tokens if reported.usage else size  # type: ignore[operator]

    assert Adds().by_usage


@pytest.mark.parametrize(
    ("usage", "size", "reported", "tokens"),
    [(None, 30, 0, 8 + 30), (Usage(100, 20), 30, 10, 140), (Usage(100, 20), 10, 30, 100), (Usage(5), 10, 30, 0)],
)
def test_what_usage_goes_on_from(usage: Usage | None, size: int, reported: int, tokens: int) -> None:
    # A head of 2 and 1 tokens and 5 that nobody sees.
    assert open_estimator("usage-tail").request(HEAD, size, (), Reported(usage, reported)) == tokens


@pytest.mark.parametrize(
    ("item", "block"),
    [
        (Item("user", 0, 0, "\u6570\u6570"), {"type": "text", "text": "\u6570\u6570"}),
        (Item("tool_call", 0, 0, "{}", "bash", None, "c1"),
         {"type": "tool_use", "id": "c1", "name": "bash", "input": "{}"}),
        (Item("tool_result", 0, 0, "a\nb", "bash", 1, "c1"),
         {"type": "tool_result", "tool_use_id": "c1", "content": "a\nb"}),
    ],
)  # fmt: skip
def test_blocks_as_json(item: Item, block: dict[str, str]) -> None:
    estimator = open_estimator("serialized")
    written = math.ceil(len(json.dumps(block, ensure_ascii=False)) / 3)
    assert estimator.item(item) == written
    assert estimator.item(msgspec.structs.replace(item, media=IMAGE)) == written + 85
    assert estimator.text("\u6570\u6570") == math.ceil(4 / 3)


def test_arguments_written_again() -> None:
    assert if_json('{"a": 1}', separators=(",", ":")) == '{"a":1}' and if_json("{a", indent=1) == "{a"
    assert [written_again(text) for text in ("", "{}", '{"a":1}', '"a"', "a")] == [
        "{}", "{}", '{"a": 1}', '{"input": "\\"a\\""}', '{"input": "a"}',
    ]  # fmt: skip
    deep = "[" * 100_000
    assert if_json(deep) == deep == parsed(deep) and handed(deep) == {"input": deep}
    assert [parsed(text) for text in ('{"a": [1]}', "7", "{a")] == [{"a": [1]}, 7, "{a"]


def test_characters_of_messages_together_or_one_by_one() -> None:
    messages = [[Item("user", 0, 0, "a" * 6)], [Item("tool_call", 1, 1, "{}", "bash")]]
    # 6, 6 and 6 are 18 by 4; each by itself 1.
    assert open_estimator("chars-total").messages(messages, "s" * 6) == 4
    assert open_estimator("chars-total:by=message").messages(messages, "s" * 6) == 3
    assert open_estimator("chars-total:by=message,rounding=ceil").messages(messages, "s" * 6) == 6
    assert open_estimator("chars-total").messages([]) == 0
    assert open_estimator("chars-total").head(HEAD) == 2 + 5, "tools aren't counted"


def test_a_sample_of_a_long_text() -> None:
    assert open_estimator("sampled") == open_estimator("sampled:chars=2000")
    text = " a" * 10
    # As many characters as are asked for are counted as they are; with one less four pieces of 4 tell: 0, 5, 11, 16.
    assert open_estimator("sampled:chars=20").text(text) == 10
    counter = open_estimator("tokenizer")
    pieces = sum(counter.text(text[start : start + 4]) for start in (0, 5, 11, 16))
    assert open_estimator("sampled:chars=19").text(text) == math.ceil(pieces * 20 / 16)
    assert open_estimator("sampled:chars=3").text(text) == math.ceil(4 * 20 / 4)
    # Four single characters are the least: of two each is counted twice.
    assert open_estimator("sampled:chars=1").text("ab") == 4 * 2 / 4
    for name in ("sampled", "tokenizer"):
        assert "_counter=" not in repr(open_estimator(name)) and open_estimator(name) == open_estimator(name)
        assert hash(open_estimator(name)) == hash(open_estimator(name))


def test_a_calibration_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    plain = Ratio(4.0, None, None, 1, 1, 1, 1)
    weights = dict.fromkeys(reversed(FEATURES), 1.0) | {"words": 3.0}
    file.write_bytes(msgspec.json.encode(Calibration(2, "x", plain, 2.0, None, "tool", {}, weights, {}, {})))
    estimator = Calibrated(str(file))
    assert estimator.text("abc") == 2 and estimator == Calibrated(str(file)) and "_calibration=" not in repr(estimator)
    assert hash(estimator) == hash(Calibrated(str(file)))
    # A word of two letters is 3 and 2, and a sign 1, in whatever order they stand.
    assert Calibrated(str(file), "classes").text("ab!") == 6
    with pytest.raises(CtxsimError, match="bogus"):
        open_estimator(f"calibrated:file={file},use=bogus")
    short = {"words": 1.0}
    file.write_bytes(msgspec.json.encode(Calibration(2, "x", plain, 2.0, None, "tool", {}, short, {}, {})))
    with pytest.raises(InputError, match="class_weights has other names than words, word_letters"):
        Calibrated(str(file), "classes")
    file.write_bytes(msgspec.json.encode(Calibration(3, "x", plain, 2.0, None, "tool", {}, weights, {}, {})))
    with pytest.raises(InputError, match="is version 3 of the calibration file; this program reads 2"):
        Calibrated(str(file))
    for ratio in (0.0, -4.0):
        none = msgspec.structs.replace(plain, chars_per_token=ratio)
        file.write_bytes(msgspec.json.encode(Calibration(2, "x", none, 2.0, None, "tool", {}, weights, {}, {})))
        with pytest.raises(InputError, match="chars_per_token"):
            Calibrated(str(file))


def test_a_calibration_that_is_written_again_counts_the_head_anew(tmp_path: Path) -> None:
    file, plain, weights = tmp_path / "mine.json", Ratio(4.0, None, None, 1, 1, 1, 1), dict.fromkeys(FEATURES, 1.0)
    counted = []
    for divisor in (4.0, 2.0):
        file.write_bytes(msgspec.json.encode(Calibration(2, "x", plain, divisor, None, "tool", {}, weights, {}, {})))
        counted.append(Calibrated(str(file)).request(Head("a" * 8), 0, (), Reported()))
    assert counted == [2, 4]


def test_the_contract_asks_of_texts_and_requests() -> None:
    asked: list[tuple[str, object]] = []

    @dataclass(frozen=True)
    class Notes(Estimator):
        """Each question is noted."""

        def text(self, text: str) -> int:
            asked.append(("text", text))
            return 1

        def item(self, item: Item) -> int:
            asked.append(("item", item.place))
            return 1

        def head(self, head: Head) -> int:
            asked.append(("head", 0))
            return 0

        def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
            asked.append(("request", (size, len(list(items)), reported.usage, reported.size, dict(reported.outputs))))
            return size

    assert list(violations(Notes, [conversation("one", "two")])) == []
    texts = [what for kind, what in asked if kind == "text"]
    assert texts == [*TEXTS, *TEXTS, *reversed(TEXTS)] and (len(TEXTS[3]), len(TEXTS[4])) == (2_500, 20_000)
    requests = list(dict.fromkeys(str(what) for kind, what in asked if kind == "request"))
    # Calls go out with 1, 3 and 5 items, which are as many tokens; before usage and after it; with 1,000 more as well.
    expected = []
    for size, outputs in ((1, {}), (3, {2: 50}), (5, {2: 50, 4: 50})):
        for usage in (None, Usage(size + 100, 50)):
            known = {} if usage is None else outputs
            expected += [str((size + more, size, usage, size if usage else 0, known)) for more in (0, MORE)]
    assert requests == expected


def test_an_estimator_that_never_returns_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Slow(Estimator):
        def text(self, text: str) -> int:
            while len(text) == 1:
                pass
            return 1

    monkeypatch.setenv(VARIABLE, "0.1")
    said = "estimator slow: `text` of ' ' took longer than 0.1 s; CTXSIM_POLICY_SECONDS sets the limit"
    assert list(violations(Slow, [conversation("one")])) == [said]
    # Also where no policy's own code runs, as in a replay.
    with pytest.raises(CtxsimError, match=re.escape(said)):
        Slow().text(" ")


def test_a_class_that_is_registered_is_known() -> None:
    @dataclass(frozen=True)
    class Noted(Estimator):
        name = "noted-in-a-test"

        def text(self, text: str) -> int:
            return 1

    assert register(Noted) is Noted and open_estimator("noted-in-a-test") == Noted() and registry.broken == {}
    del registered_estimators()["noted-in-a-test"]


def test_what_shrinks_as_it_grows_is_told() -> None:
    @dataclass(frozen=True)
    class Shrinks(Estimator):
        def text(self, text: str) -> int:
            return 1

        def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
            return max(0, 900 - size)

    @dataclass(frozen=True)
    class Level(Shrinks):
        def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
            return 900

    assert list(violations(Level, [conversation("one")])) == [], "as much is not less"
    told = list(violations(Shrinks, [conversation("one")]))
    assert told[0] == ("sample, request of call 1: 899 tokens at size 1, but 0 at 1001; more must not count less")


def test_labels_of_estimators_leave_out_what_is_usual() -> None:
    for label in (
        "chars:ratio=3.5",
        "langchain:scaling=True",
        "usage-tail:unit=utf16",
        "serialized:ratio=4",
        "chars-total:by=message",
        "tokenizer:factor=1.5",
        "sampled:chars=9",
    ):
        assert estimator_label(open_estimator(label)) == label


@pytest.mark.parametrize("ratio", ["0", "-1", "nan"])
def test_a_ratio_of_nothing_is_refused(ratio: str) -> None:
    assert open_estimator("chars:ratio=1e-9").text("") == 0
    with pytest.raises(LabelError, match=f"^chars: ratio={ratio}: expected a number > 0.0$"):
        open_estimator(f"chars:ratio={ratio}")


@pytest.mark.parametrize("factor", ["-1", "nan", "inf"])
def test_a_factor_that_gives_no_tokens_is_refused(factor: str) -> None:
    assert open_estimator("words:factor=0").text("one") == 0
    for family in ("words", "tokenizer"):
        with pytest.raises(LabelError, match=f"^{family}: factor={factor}: expected a number "):
            open_estimator(f"{family}:factor={factor}")


def test_characters_are_tracked_of_tool_results_alone() -> None:
    # 7 / 3.5; what the model and the user say is tracked by the usage.
    tracked = open_estimator("tool-chars")
    assert [tracked.item(Item(kind, 1, 1, "1234567")) for kind in ("tool_result", "user", "assistant")] == [2, 0, 0]
