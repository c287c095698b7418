"""A rendering that follows edits is the one that is made anew."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import transcripts

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.rendering import HEAD_POSITIONS, Rendering
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Head, Item, Transcript
from ctxsim.view import View


@pytest.mark.parametrize(("vendor", "model"), [("none", ""), ("openai", "gpt-5.5"), ("anthropic", "claude-sonnet-4-5")])
@settings(max_examples=60)
@given(transcripts(), st.data())
def test_following_edits_is_rendering_anew(
    vendor: str, model: str, transcript: Transcript, data: st.DataObject
) -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    framing = load_vendor(vendor).framing
    following = Rendering(transcript.head, model, framing, counter.item, counter.text)
    view, shared, billed = View(counter.item), 0, list[Item]()
    joining = list(transcript.items)
    while joining:
        for _ in range(data.draw(st.integers(1, len(joining)))):
            view = view.grow([joining.pop(0)])
        chosen = data.draw(st.sets(st.sampled_from([item.place for item in view]), max_size=3))
        match data.draw(st.sampled_from(["drop", "rewrite", "insert"])):
            case "drop" if len(chosen) < len(view):
                view = view.drop(chosen, "r")
            case "insert":
                view = view.insert("note", data.draw(st.integers(0, len(transcript.items))), "r", sources=chosen)
            case _:
                view = view.rewrite(dict.fromkeys(chosen, data.draw(st.sampled_from(["new", "newer"]))), "r")
        texts = all(edit.action == "edited" for edit in view.edits)
        at = [edit.position for edit in view.edits] if texts and data.draw(st.booleans()) else None
        following.follow(view, min([shared, *(edit.position for edit in view.edits)]), at)
        if data.draw(st.booleans()):
            following.remember()
            billed = list(view)
        some = data.draw(st.integers(0, following.length - 1))
        part = following.tokens_to(some)
        view, shared = view.settled(), len(view)
        anew = Rendering(transcript.head, model, framing, counter.item, counter.text)
        anew.follow(view, 0)
        assert (part, following.total) == (anew.tokens[some], anew.total)
        assert (following.tokens, following.prefixes.own) == (anew.tokens, anew.prefixes.own)
        assert following.items == list(view)
        left = following.prefixes.shared
        if HEAD_POSITIONS <= left < following.prefixes.remembered:
            assert following.left_at(left) is billed[left - HEAD_POSITIONS]


def test_what_stands_two_items_behind_another_one_is_rendered_again() -> None:
    """Of three calls of one response only the second one brings what parallel calls have around them. With a note in
    the first one's stead the third is the second.
    """
    counter = Counter(open_tokenizer("o200k_base"))
    framing = msgspec.structs.replace(load_vendor("none").framing, parallel=7)
    calls = [Item("tool_call", place, 1, "{}", "look") for place in range(3)]
    note = Item("note", -1, -1, "note")

    def rendered(*requests: list[Item]) -> Rendering:
        made = Rendering(Head(), "", framing, counter.item, counter.text)
        for items in requests:
            made.follow(items, 0)
        return made

    user = Item("user", 3, 2, "on")
    other = [note, *calls[1:], user.with_text("no")]
    followed, anew = rendered([*calls, user], other), rendered(other)
    assert rendered(calls).tokens[-1] - rendered(calls[:2]).tokens[-1] == anew.tokens[4] - anew.tokens[3] - 7
    assert (followed.tokens, followed.prefixes.own) == (anew.tokens, anew.prefixes.own)


def test_what_the_last_request_had_is_told_through_several_edits() -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    first, second, third = (Item("user", place, place, f"text {place}") for place in range(3))
    rendering = Rendering(Head(), "", load_vendor("none").framing, counter.item, counter.text)
    rendering.follow([first, second, third], 0)
    rendering.remember()
    rendering.follow([first, other := second.with_text("other"), third], 1, [1])
    assert (rendering.prefixes.shared, rendering.left_at(HEAD_POSITIONS + 1)) == (HEAD_POSITIONS + 1, second)
    rendering.follow([first, Item("note", -1, -1, "note"), other, third], 1)
    assert (rendering.prefixes.shared, rendering.left_at(HEAD_POSITIONS + 1)) == (HEAD_POSITIONS + 1, second)
    assert rendering.left_at(HEAD_POSITIONS + 2) is third
