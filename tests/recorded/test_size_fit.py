"""The fit of a recording's size: exact where the world is a line with steps, and careful where it can't be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import ASK, chat, conversation
from strategies import transcripts

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Spec, open_policy
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.size_fit import (
    Request,
    comparisons,
    fit_size,
    growth,
    requests,
)
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.measure.measured import Size
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import Resend
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Compaction, Head, Item, Media, Transcript, Usage


def recording(head: float, factor: float, texts: list[int], steps: dict[int, int] | None = None) -> list[Request]:
    """Requests of a provider that counts so; 10 tokens of framing a call."""
    joined = 0
    found = []
    for call, text in enumerate(texts, 1):
        joined += (steps or {}).get(call, 0)
        found.append(Request(call, text, 10 * call, round(head + factor * text + joined) + 10 * call))
    return found


def test_usage_of_less_than_framing_says_nothing_of_the_texts() -> None:
    # 100 tokens of framing and 200 of texts, and one recorded token: 1 - 100 = factor x 200 has no factor above zero.
    size = fit_size([Request(call=1, text=200, framing=100, recorded=1)], 1.2)
    assert size and size.factor == 1.2 and size.head == 0


@given(
    st.integers(0, 50_000),
    st.floats(0.7, 3.0),
    st.lists(st.integers(300, 5_000), min_size=4, max_size=40),
)
def test_whatever_the_line_it_is_met(head: int, factor: float, grown: list[int]) -> None:
    texts = [sum(grown[: n + 1]) for n in range(len(grown))]
    found = fit_size(recording(head, factor, texts))
    assert isinstance(found, Size) and found.p95_error is not None
    assert found.p95_error < 0.01
    assert found.factor == pytest.approx(factor, rel=0.02)


def logged(recorded: list[int | None], models: str = "", **changes: object) -> Transcript:
    """A transcript of so many calls with that usage, one letter of a model's name each."""
    made = conversation(*["result"] * (len(recorded) - 1))
    calls = tuple(
        msgspec.structs.replace(call, usage=None if tokens is None else Usage(tokens, 1), model=model)
        for call, tokens, model in zip(made.calls, recorded, models or " " * len(recorded), strict=True)
    )
    return msgspec.structs.replace(made, calls=calls, **changes)


def test_growth_since_the_first_call_with_usage_compares() -> None:
    # 499 tokens more say nothing yet, 500 do; what is less than at the base neither.
    transcript = logged([None, 10_000, 10_499, 10_500, 9_000, 14_000])
    assert list(comparisons(transcript)) == [(4, 500, 2), (6, 4_000, 2)]


def test_a_whole_head_compares_whole_requests() -> None:
    transcript = logged([100, None, 140], head=Head("system", ("tool",)))
    assert list(comparisons(transcript)) == [(1, 100, None), (3, 140, None)]
    assert not list(growth(transcript))


def test_each_model_grows_from_its_own_first_call() -> None:
    transcript = logged([1_000, 9_000, 2_000, 9_700], "abab")
    assert list(comparisons(transcript)) == [(3, 1_000, 1), (4, 700, 2)]


def test_after_a_compaction_growth_begins_anew() -> None:
    transcript = logged([1_000, 9_000, 3_000, 4_000])
    at = transcript.calls[1].end
    cut = segments(msgspec.structs.replace(transcript, compactions=(Compaction(3, at, "", ("summary",)),)))
    assert [list(comparisons(one)) for one in cut] == [[(2, 8_000, 1)], [(2, 1_000, 1)]]


@dataclass(frozen=True)
class Texts(Estimator):
    """The tokenizer's count of texts as they are sent, so that a replay adds them up as it goes."""

    name: ClassVar[str] = "texts"
    counter: Counter
    frames: Frames

    def text(self, text: str) -> int:
        return self.counter.text(text)

    def item(self, item: Item) -> int:
        return sum(map(self.text, self.frames.texts(item)))


def replayed(transcript: Transcript, provider: Provider) -> list[Request]:
    """The requests of a recording, by sending each of them."""
    counter = provider.counter()
    spec = Spec("keep-all", open_policy("keep-all").links, Texts(counter, Frames(provider, counter)))
    sent = replay(transcript, spec, provider, provider.counter())
    known = [(one, one.tokens_estimated - transcript.head.hidden, one.tokens_recorded) for one in sent]
    return [Request(one.call, text, one.tokens_sent - one.tokens_estimated, told) for one, text, told in known if told]


THOUGHT_FIRST = chat(("reasoning", "Well, what is there?"), ASK, ("tool_result", "ok"), ("assistant", "Done."))
USED = tuple(msgspec.structs.replace(call, usage=Usage(100)) for call in THOUGHT_FIRST.calls)


@settings(max_examples=30)
@example(msgspec.structs.replace(THOUGHT_FIRST, calls=USED), "all", "none", [None, None])
@given(
    transcripts(),
    st.sampled_from(get_args(Resend)),
    st.sampled_from(["none", "openai", "anthropic", "deepseek"]),
    st.lists(st.sampled_from([None, Head("other"), Head("third", ("{}",), hidden=7)]), min_size=8, max_size=8),
)
def test_requests_are_told_without_sending_them(
    transcript: Transcript, resend: Resend, framing: str, heads: list[Head | None]
) -> None:
    calls = tuple(msgspec.structs.replace(call, head=head) for call, head in zip(transcript.calls, heads, strict=False))
    head = msgspec.structs.replace(transcript.head, hidden=11)
    recorded = msgspec.structs.replace(transcript, calls=calls, head=head)
    provider = Provider(window=1 << 40, framing=framing, reasoning=resend)
    assert requests(recorded, provider) == replayed(recorded, provider)


def test_thinking_that_is_not_shown_is_text_and_no_framing() -> None:
    made = conversation("a result")
    thought = Item("reasoning", 1, 1, "so")
    items = (made.items[0], thought, *(msgspec.structs.replace(one, place=one.place + 1) for one in made.items[1:]))
    calls = (Call(1, 3, Usage(100)), Call(4, 5, Usage(200)))
    shown = msgspec.structs.replace(made, items=items, calls=calls)
    more = msgspec.structs.replace(thought, media=(Media("unshown", 50),))
    signed = msgspec.structs.replace(shown, items=(items[0], more, *items[2:]))
    (_, plain), (_, found) = (requests(one, Provider(reasoning="all")) for one in (shown, signed))
    assert (found.text - plain.text, found.framing - plain.framing) == (50, 0)


def test_texts_are_counted_as_they_are_sent() -> None:
    made = conversation("a result")
    call = msgspec.structs.replace(made.items[1], text='{"text": "a \\"b\\""}')
    calls = (Call(1, 2, Usage(100)), Call(3, 4, Usage(200)))
    said = msgspec.structs.replace(made, items=(made.items[0], call, *made.items[2:]), calls=calls)
    provider = Provider(framing="anthropic", model="claude-opus-5")
    first, second = requests(said, provider)
    # The factor scales what is sent: an argument without the marks of JSON.
    plain = sum(map(provider.counter().text, ("tool", "text", 'a "b"', "a result")))
    assert second.text - first.text == plain
    # Two messages, one call with one argument.
    assert second.framing - first.framing == 2 * 2 + 24 + 19
