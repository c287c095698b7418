"""A rendering that follows edits is the one that is made anew."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import transcripts

from ctxsim.provider.rendering import Rendering
from ctxsim.provider.vendor import load_vendor
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
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
    view, shared = View(counter.item), 0
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
        following.follow(view, min([shared, *(edit.position for edit in view.edits)]))
        view, shared = view.settled(), len(view)
        anew = Rendering(transcript.head, model, framing, counter.item, counter.text)
        anew.follow(view, 0)
        assert (following.tokens, following.prefixes.own, following.items) == (
            anew.tokens,
            anew.prefixes.own,
            list(view),
        )


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
