"""Whole rows of a recording and of points made by hand: accuracy, consequences, stretches and comparisons."""

from __future__ import annotations

import json

import msgspec
import pytest
from samples import conversation

from ctxsim.answers.validation.accuracy import Accuracy, Consequence, Observed, Point, consequence, observe, table
from ctxsim.answers.validation.unseen import Predicted, Stretch, of_later_calls, stretches, unseen
from ctxsim.answers.validation.validation import Compared, Score, compare, score
from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.recorded.size_fit import Request
from ctxsim.transcript import Head, Media, Transcript, Usage

MODEL = "claude-opus-4-6"


def recorded() -> Transcript:
    """Three looks into files of ten lines, a compaction with its summary, two answers."""
    made = Assembly("logs/s.jsonl")
    made.user("Do it.")
    for n in range(3):
        usage = Usage(9_000 + 1_000 * n, 20, 8_000 * (n > 0), cost_usd=0.01 * (n + 1))
        made.response([Part("tool_call", json.dumps({"file_path": f"src/{n}.py"}), "Read", f"c{n}")], usage)
        made.result("\n".join(f"{line:6}→word" for line in range(1, 11)), f"c{n}")
    made.compacted("auto", ["We read three files."], (), 167_000, 2_000)
    made.user("Go on.")
    for n in range(2):
        made.response([Part("assistant", "Fine.")], Usage(9_500 + 10 * n, 5))
        made.user("And?")
    whole = made.transcript()
    calls = tuple(msgspec.structs.replace(call, model=MODEL) for call in whole.calls)
    return msgspec.structs.replace(whole, calls=calls, format="claude-code", project="p", head=Head(recorded=False))


def test_stretches_are_the_segments_with_what_is_known_of_them() -> None:
    # 49 tokens of each of three files: 147 are attached again behind the first. A call and its result are two
    # messages of 3, a call of 39 and an argument of 15, and its arguments are sent without JSON.
    common = {"transcript": "logs/s.jsonl", "project": "p", "format": "claude-code", "model": MODEL, "sub_agent": False,
              "prior": 1.0, "whole": False}  # fmt: skip
    first = (Request(1, 3, 3, 9_000, MODEL), Request(2, 61, 63, 10_000, MODEL), Request(3, 119, 123, 11_000, MODEL))
    second = (Request(1, 8, 6, 9_500, MODEL), Request(2, 12, 12, 9_510, MODEL))
    made = recorded()
    assert list(stretches(made)) == [
        Stretch(**common, number=0, summarised=False, requests=first, again=147),  # type: ignore[arg-type]
        Stretch(**common, number=1, summarised=True, requests=second, again=0),  # type: ignore[arg-type]
    ]
    # Another agent attaches nothing; a parent's name makes it a sub-agent's; a public tokenizer has no prior.
    other = msgspec.structs.replace(
        made, format="codex", parent="logs/t.jsonl",
        calls=tuple(msgspec.structs.replace(call, model="gpt-4.1") for call in made.calls),
    )  # fmt: skip
    found = list(stretches(other))
    assert [(one.again, one.sub_agent, one.prior, one.model, one.whole) for one in found] == [
        (0, True, 1.0, "gpt-4.1", False),
    ] * 2  # fmt: skip
    # A head with all it needs is whole where the tokenizer is public alone.
    for model, whole in (("gpt-4.1", True), (MODEL, True), ("gemini-2.5-pro", False)):
        plain = conversation()
        calls = tuple(msgspec.structs.replace(call, model=model, usage=Usage(100, 1)) for call in plain.calls)
        (one,) = stretches(msgspec.structs.replace(plain, calls=calls))
        assert one.whole is whole
    # Without usage there is none.
    assert list(stretches(conversation("result"))) == []
    # A summary that isn't the log's own is none: what is kept stands first.
    bare = msgspec.structs.replace(made.compactions[0], summary=(), kept=(1, 2))
    (_, behind) = stretches(msgspec.structs.replace(made, compactions=(bare,)))
    assert not behind.summarised


def test_later_calls_have_all_that_is_said_of_them() -> None:
    requests = tuple(Request(call, 100 * call, 10, 500 + 100 * call) for call in range(1, 10))
    one = Stretch("t", 0, "p", "f", "m", False, 1.0, False, False, requests)
    assert list(of_later_calls(one)) == [
        Predicted("later calls", "t", "f", "m", call, 500.0 + 100 * call, 500 + 100 * call) for call in range(5, 10)
    ]  # fmt: skip
    assert one.again == 0
    odd = [Predicted("past a compaction", "t", "f", "m", 1, 150.0, 100),
           Predicted("another project", "t", "f", "m", 0, 30.0, 40),
           Predicted("later calls", "t", "f", "m", 1, 9.0, 9)]  # fmt: skip
    assert [(row.way, row.n, row.median, row.p95, row.bias) for row in unseen(odd)] == [
        ("later calls", 1, 0.0, 0.0, 0.0), ("past a compaction", 1, 0.5, 0.5, 0.5),
        ("another project", 1, 0.25, 0.25, -0.25),
    ]  # fmt: skip


def test_percentiles_are_nearest_ranks_of_four_digits() -> None:
    # Of a hundred errors of 1 to 100 per cent, and of twenty of 5 to 100; a third has four digits.
    points = [Point("t", "text", 100, None, (100 + n,)) for n in range(1, 101)]
    found = table(Observed(points, [], [], []), "o200k", [open_estimator("chars/4")])[0]
    assert (found.p50, found.p95, found.p99, found.mape, found.worst_under) == (0.5, 0.95, 0.99, 0.505, 0.01)
    made = score([compared(n, 1_000 + 50 * n) for n in range(1, 21)], [n / 20 for n in range(1, 21)])
    assert (made.median_error, made.p95_error, made.held_out_median, made.held_out_p95) == (0.5, 0.95, 0.5, 0.95)
    made = score([compared(1, 1_000)], [1 / 3])
    assert (made.held_out_median, made.held_out_p95) == (0.3333, 0.3333)
    (third,) = unseen([Predicted("later calls", "t", "f", "m", 1, 100.0, 300)])
    assert (third.median, third.p95, third.bias) == (0.6667, 0.6667, -0.6667)


def test_calls_are_compared_with_what_was_recorded() -> None:
    found = compare(recorded())
    common = {"format": "claude-code", "model": MODEL, "cause": "", "whole": False}
    # 5 USD a million of input, 25 of output, 6.25 written, 0.5 read. Of a recorded read the rules know nothing.
    assert [(one.transcript, one.call, one.text, one.recorded, one.read_recorded, one.cost_recorded_usd)
            for one in found] == [
        ("logs/s.jsonl", 1, 3, 9_000, 0, 0.01), ("logs/s.jsonl", 2, 61, 10_000, 8_000, 0.02),
        ("logs/s.jsonl", 3, 119, 11_000, 8_000, 0.03), ("logs/s.jsonl~2", 1, 8, 9_500, None, None),
        ("logs/s.jsonl~2", 2, 12, 9_510, None, None),
    ]  # fmt: skip
    assert all({name: getattr(one, name) for name in common} == common for one in found)
    # The guess: all that the request before held.
    assert [one.read_trivial for one in found] == [0, *(one.modelled for one in found[:2]), 0, found[3].modelled]
    assert [one.framing for one in found[3:]] == [6, 12] and found[0].read_predicted == 0
    for one in found:
        assert one.counted == one.text + one.framing
        assert one.error == (one.modelled - one.recorded) / one.recorded
    # What caches miss elsewhere is left out where nobody asks for it.
    plain = compare(recorded(), misses="none")
    assert plain[1].read_predicted == found[1].read_predicted + found[1].read_missed > found[1].read_predicted
    assert plain[1].read_missed == 0
    # Dollars are by listed prices, though all input was paid in full: nothing is read at a tenth then.
    made = recorded()
    usages = [one.usage and msgspec.structs.replace(one.usage, cost_usd=5e-6 * one.usage.input_tokens + 5e-4)
              for one in made.calls]  # fmt: skip
    calls = [msgspec.structs.replace(one, usage=usage) for one, usage in zip(made.calls, usages, strict=True)]
    dear = msgspec.structs.replace(made, calls=tuple(calls))
    dollars = [one.cost_modelled_usd for one in compare(dear)]
    assert dollars == [one.cost_modelled_usd for one in found] and dollars[1] is not None
    assert dollars[1] < 0.015 < 0.05 < (compare(dear, by_cost=True)[1].cost_modelled_usd or 0)


def compared(call: int, modelled: int, **more: object) -> Compared:
    fields = {"read_predicted": 0, "read_trivial": 0, "read_recorded": None, "cause": "", "whole": False, **more}
    return Compared("t", "f", "m", call, 1, 1, 1_000, modelled, **fields)  # type: ignore[arg-type]


def test_a_score_has_all_its_figures() -> None:
    # Errors 0, 5 %, 5.1 % and 20 %. Reads of the first call count for nothing; of the others 1,050 are recorded, and
    # 50 of 1,000 off is near enough, 51 isn't.
    calls = [
        compared(1, 1_000, read_recorded=900, cost_recorded_usd=9.0, cost_modelled_usd=1.0),
        compared(2, 1_050, read_recorded=500, read_predicted=447, read_trivial=553, cost_recorded_usd=2.0,
                 cost_modelled_usd=1.0),
        compared(3, 949, read_recorded=550, read_predicted=550, read_trivial=500, cost_recorded_usd=0.0,
                 cost_modelled_usd=1.0),
        compared(4, 1_200, read_recorded=0, read_predicted=60, read_trivial=61, cost_recorded_usd=1.0),
    ]  # fmt: skip
    assert score(calls, [0.3, -0.1, 0.2]) == Score(
        "f", "m", 4, 0.05, 0.2, 0.5, 3, 0.2, 0.3, 3, round(2 / 3, 4), 0.0, round(1_057 / 1_050, 4), 1, 0.5
    )
    assert score([compared(2, 1_050)]) == Score(
        "f", "m", 1, 0.05, 0.05, 1.0, 0, None, None, 0, None, None, None, 0, None
    )
    near = compared(2, 1_000, read_recorded=500, read_predicted=450, read_trivial=551)
    assert (score([near]).agreement, score([near]).trivial_agreement) == (1.0, 0.0)
    # What is missed on average is in the sums, but no call misses a little.
    less = score([compared(2, 1_000, read_recorded=500, read_predicted=440, read_missed=60)])
    assert (less.agreement, less.reads_ratio) == (1.0, 0.88)


def run(name: str, *pairs: tuple[int, int]) -> list[Point]:
    """Requests of so many tokens, and what two estimators say: that number, and twice the tokens."""
    return [Point(name, "request", tokens, None, (told, 2 * tokens)) for tokens, told in pairs]


RUNS = [
    run("a", *((100 * n, 60 * n) for n in range(1, 11))), run("b", *((100 * n, 150 * n) for n in range(1, 6))),
    run("c", (100, 100), (200, 200), (300, 310)), run("d", (800, 300), (1_000, 400)),
]  # fmt: skip
RUN_POINTS = [point for one in RUNS for point in one]


@pytest.mark.parametrize(("number", "threshold", "figures"), [
    # Due are a at 400, b at 400, d at 800; c never. The estimate fires in a at 600, 200 tokens late, in b at 300, 100
    # early, in d at 1,000. The window is 450: a passes it at 500 and d at 800, both before. Safe are 400 and 500 of a
    # and 800 of d, where it says 240, 300 and 300; b's 300 is a false alarm.
    (0, 350, (3, 0, 0, 2, 1, 1, 200.0, 100, 2, 3, 1)),
    # Of each the threshold is 70 % of its largest request: 700, 350, 210 and 700. a and d never fire; c fires when due.
    (0, None, (2, 0, 2, 0, 1, -0.5, None, 100, 2, 5, 1)),
    # Twice as many fire at 200, 200 and 200 of a, b and c, and at once in d: 2, 2, and in c nothing is due.
    (1, 350, (3, 1, 0, 0, 2, -2, None, 200.0, 0, 0, 6)),
    (0, 250, (4, 0, 0, 1, 1, 0.0, 200, 100, 1, 2, 1)),
    (0, 100_000, (0, 0, 0, 0, 0, None, None, None, 0, 0, 0)),
])  # fmt: skip
def test_what_an_estimate_does_to_a_trigger(
    number: int, threshold: int | None, figures: tuple[float | None, ...]
) -> None:
    observed = Observed([], RUN_POINTS, RUNS, [])
    assert consequence(observed, number, "mine", "o200k", threshold) == Consequence(
        "mine", "o200k", 4, *figures, calls=20  # type: ignore[arg-type]
    )  # fmt: skip


def test_all_of_a_recording_is_observed() -> None:
    estimators = [open_estimator("chars/4"), open_estimator("usage-tail")]
    observed = observe([recorded(), conversation("silent")], open_tokenizer(), estimators)
    name = "logs/s.jsonl"

    def request(at: str, tokens: int, told: int | None, *estimates: int) -> Point:
        return Point(at, "request", tokens, told, estimates)

    # 119 characters of a file are 59 tokens. Shorter texts, calls and what is thought count for requests alone.
    assert observed.texts == [Point(name, "prose", 59, None, (30, 30))] * 3
    first = [request(name, 3, 9_000, 2, 2), request(name, 73, 10_000, 40, 53), request(name, 143, 11_000, 78, 123)]
    second = [request(f"{name}~2", 8, 9_500, 7, 7), request(f"{name}~2", 12, 9_510, 10, 14)]
    assert observed.runs[:2] == [first, second] and observed.requests[:5] == [*first, *second]
    assert len(observed.runs) == 3 and len(observed.requests) == 7
    # Growth since the first request; of ten tokens it says nothing.
    assert observed.usage == [Point(name, "growth", 70, 1_000, (38, 51)), Point(name, "growth", 140, 2_000, (76, 121))]
    whole = Observed(observed.texts, [*first, *second], observed.runs, observed.usage)

    def row(estimator: str, tokenizer: str, scope: str, kind: str, n: int, *figures: float) -> Accuracy:
        return Accuracy(estimator, tokenizer, scope, kind, n, *figures)

    texts = (3, -0.4915, *[0.4915] * 4, -0.4915, -0.4915)
    assert table(whole, "o200k", estimators) == [
        row("chars", "o200k", "text", "prose", *texts), row("chars", "o200k", "text", "all", *texts),
        # -1/3, -33/73, -65/143, -1/8 and -2/12; 137 of 239.
        row("chars", "o200k", "request", "all", 5, -0.3063, 0.3063, 0.3333, 0.4545, 0.4545, -0.4545, -0.4268),
        row("chars", "recorded usage", "usage", "all", 2, -0.962, 0.962, 0.962, 0.962, 0.962, -0.962, -0.962),
        row("usage-tail", "o200k", "text", "prose", *texts), row("usage-tail", "o200k", "text", "all", *texts),
        row("usage-tail", "o200k", "request", "all", 5, -0.1411, 0.2078, 0.1667, 0.3333, 0.3333, -0.3333, -0.1674),
    ]  # fmt: skip


def test_texts_of_fifty_tokens_are_looked_at_and_no_calls_pictures_or_thoughts() -> None:
    made = Assembly("t")
    made.user("word" + " word" * 49)
    made.user("word" + " word" * 48)
    text = "word " * 100
    made.response([Part("reasoning", text), Part("assistant", text), Part("tool_call", text, "t", "c")])
    made.result(text, "c", media=(Media("image", 9),))
    made.response([Part("assistant", "Done.")])
    observed = observe([made.transcript()], open_tokenizer(), [open_estimator("tokenizer")])
    assert [one.tokens for one in observed.texts] == [50, 101]
    silent = msgspec.structs.replace(conversation("x " * 100), calls=())
    assert observe([silent], open_tokenizer(), []) == Observed([], [], [], [])
