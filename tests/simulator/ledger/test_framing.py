"""What stands around the texts of a request: by hand, and against sizes that providers recorded."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import corpus
import msgspec
import pytest

from ctxsim.answers.validation.validation import compare
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.readers import read_source, sources
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Media, Transcript


def exchange() -> Transcript:
    assembly = Assembly("exchange")
    assembly.user("go")
    assembly.response([Part("tool_call", '{"text": "a \\"b\\"", "n": 2}', "look", "c")])
    assembly.result("ok", "c")
    return assembly.transcript()


def tokens(vendor: str, model: str) -> list[int]:
    """Tokens of each item of the exchange, framing included."""
    upto = list(request_of(exchange(), vendor, model).upto())
    return [after - before for before, after in pairwise(upto[1:])]


def request_of(transcript: Transcript, vendor: str, model: str) -> Request:
    """A request that holds all of a transcript."""
    provider = Provider(framing=vendor, model=model)
    request = Request(Frames(provider, provider.counter()), transcript.head)
    request.join(transcript.items)
    return request


def test_a_call_is_addressed_and_its_result_named() -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    go, call, ok = (counter.item(item) for item in exchange().items)
    assert tokens("openai", "gpt-4.1") == [4 + go, 4 + 5 + call, 4 + 1 + ok]  # "look" is 1 token
    assert tokens("openai", "o3") == [5 + go, 5 + 9 + call, 5 + 1 + ok]


def test_deepseek_and_claude_send_arguments_decoded() -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    plain = sum(map(counter.text, ("look", "text", 'a "b"', "n", "2")))
    # A message of 2, call 24, two arguments of 19; the result's message. In Opus 4.7 to 4.9: 31, 20; older: 3, 39, 15.
    assert tokens("anthropic", "claude-opus-5")[1:] == [2 + 24 + 2 * 19 + plain, 2 + counter.text("ok")]
    assert tokens("anthropic", "claude-opus-4.8")[1:] == [2 + 31 + 2 * 20 + plain, 2 + counter.text("ok")]
    assert tokens("anthropic", "claude-opus-4-6")[1:] == [3 + 39 + 2 * 15 + plain, 3 + counter.text("ok")]
    # What joined unlogged stands beside a call and counts with it.
    call = exchange().items[1]
    joined = msgspec.structs.replace(call, media=(Media("unlogged", 900),))
    frames = Frames(Provider(framing="anthropic"), counter)
    assert frames.item(joined, None, None)[0] == frames.item(call, None, None)[0] + 900
    # A message of 2, calls 13, call 10, two arguments of 14; the result's message 2, results 6 (V4: 1), result 6.
    assert tokens("deepseek", "deepseek-chat")[1:] == [2 + 13 + 10 + 2 * 14 + plain, 2 + 6 + 6 + counter.text("ok")]
    assert tokens("deepseek", "deepseek-v4-flash")[2] == 2 + 1 + 6 + counter.text("ok")


@corpus.here
@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "model", "calls"),
    [("mini-swe-agent", "deepseek", 240), ("tau2-bench", "o3", 110), ("tau2-bench", "deepseek", 60)],
)
def test_growth_is_what_the_provider_recorded(folder: str, model: str, calls: int) -> None:
    """Growth from the first call on, so that a head that isn't recorded doesn't count: right to 0.2 % in the median."""
    errors = []
    for source in sources(str(corpus.FOLDER / folder)):
        for transcript in read_source(source):
            if model not in transcript.model:
                continue
            found = compare(transcript)
            for call in found[1:]:
                grown = found[0].recorded + call.counted - found[0].counted
                errors.append(abs(grown - call.recorded) / call.recorded)
    assert len(errors) >= calls
    assert median(errors) < 0.002


def test_harmony_packs_calls_and_sets_a_text_before_them_apart() -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    assembly = Assembly("harmony")
    assembly.user("go")
    assembly.response(
        [
            Part("reasoning", "hm"),
            Part("assistant", "I look"),
            *(Part("tool_call", "{}", "look", f"c{n}") for n in "123"),
        ]
    )
    for n in "123":
        assembly.result("ok", f"c{n}")
    transcript = assembly.transcript()
    plain = sum(map(counter.item, transcript.items)) + 3 * counter.text("look")
    # 3 for the request; 5 for each wire message (user, response, three results); 3 around the reasoning, 7 for the text
    # apart, 9 for each call, 16 because they are several.
    assert request_of(transcript, "openai", "gpt-5.5").total - plain == 3 + 5 * 5 + 3 + 7 + 9 * 3 + 16


@corpus.here
@pytest.mark.corpus
def test_exchanges_of_gpt_5_are_exact() -> None:
    """Growth within a turn, call by call, of GPT-5.3 to 5.5 in Codex: nine in ten to within 2 tokens."""
    off = []
    for source in sources(str(corpus.FOLDER / "codex-agentv")):
        for transcript in read_source(source):
            before = None
            for one in compare(transcript):
                start = transcript.calls[one.call - 2].start if one.call > 1 else 0
                kinds = {item.kind for item in transcript.items[start : transcript.calls[one.call - 1].start]}
                if before is not None and before.call == one.call - 1 and "user" not in kinds:
                    off.append(abs((one.recorded - before.recorded) - (one.counted - before.counted)))
                before = one
    assert len(off) >= 95
    assert sum(tokens <= 2 for tokens in off) / len(off) > 0.9
