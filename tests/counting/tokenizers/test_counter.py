"""The memo counts each text once, and scales what it counted."""

from __future__ import annotations

from collections.abc import Sequence

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter, counted
from ctxsim.transcript import Call, Head, Item, Media, Transcript


class Words:
    """A tokenizer of words, each an id of its own; it writes down what it is asked."""

    name = "words"
    vocabulary_sha256 = ""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def count_many(self, texts: Sequence[str]) -> list[int]:
        self.asked.append(list(texts))
        return [len(text.split()) for text in texts]

    def ids(self, text: str) -> list[int]:
        return list(map(hash, text.split()))


def test_a_text_is_counted_once_and_a_batch_in_one_go() -> None:
    words = Words()
    counter = Counter(words)
    counter.learn(["a b", "a b c", "a b", ""])
    assert words.asked == [["a b", "a b c"]]
    assert [counter.text(text) for text in ("a b c", "a b", "", "d")] == [3, 2, 0, 1]
    assert words.asked == [["a b", "a b c"], ["d"]]
    counter.learn(["d", "a b"])
    assert len(words.asked) == 2, "nothing new, nothing asked"
    made = Transcript("t", Head("s", ("{}",)), (Item("user", 0, 0, "hi you"),), (Call(1, 1, model="gpt-4"),))
    assert counted(made, words).tokenizer is words and words.asked[2:] == [["hi you"], ["s", "{}"]]
    assert counted(made).tokenizer.name == "cl100k_base"


def test_a_factor_is_rounded_text_by_text_and_counts_are_shared() -> None:
    words = Words()
    plain = Counter(words)
    assert plain.text("a b c") == 3
    scaled = Counter(words, 1.5, plain)
    # 4.5 and 1.5, halves up.
    assert [scaled.text("a b c"), scaled.text("d")] == [5, 2]
    assert words.asked == [["a b c"], ["d"]]
    # 1.25 and 3.75; nothing is nothing.
    assert [Counter(words, 1.25).text(text) for text in ("d", "a b c", "")] == [1, 4, 0]
    # Another tokenizer's counts are no counts of this one.
    other = Words()
    assert Counter(other, 1.0, plain).text("a b c") == 3 and other.asked == [["a b c"]]


def test_an_item_is_its_texts_and_its_media_a_head_its_texts_and_what_is_hidden() -> None:
    counter = Counter(Words())
    assert counter.item(Item("tool_call", 0, 1, "a b", "read")) == 1 + 2
    assert counter.item(Item("user", 1, 2, "a b c", media=(Media("image", 100), Media("file", 20)))) == 123
    assert counter.head(Head("a b", ("c", "d e"), hidden=7)) == 2 + 1 + 2 + 7
    # Thinking that isn't shown is text: 1.5 x 2 + 1.5 x 10, and an image is what its vendor says.
    thought = Item("reasoning", 2, 3, "a b", media=(Media("unshown", 10), Media("image", 100)))
    scaled = Counter(Words(), 1.5)
    assert (scaled.item(thought), scaled.unshown(thought)) == (118, 15)
    # Its 10 are tokens of o200k_base; Claude's newer vocabulary has 1.548 for one of these.
    assert Counter(open_tokenizer("claude_4.7")).unshown(thought) == 15
    assert Counter(open_tokenizer("claude_3"), 2.0).unshown(thought) == 24


def test_what_two_texts_share_is_their_beginning() -> None:
    counter = Counter(Words(), 2.0)
    assert counter.shared("a b c", "a b d") == 4
    assert counter.shared("a b", "b b") == 0
    assert counter.shared("a", "a") == 2


def test_two_texts_share_a_token_even_if_they_go_on_differently() -> None:
    class Letters(Words):
        def ids(self, text: str) -> list[int]:
            return list(map(ord, text))

    counter = Counter(Letters())
    assert [counter.shared("ab", "ac"), counter.shared("", "a"), counter.shared("a", "b")] == [1, 0, 0]
    # Letters that aren't ASCII may begin with the same bytes: they are looked at.
    assert counter.shared("\u00e9x", "\u00e9y") == 1 and counter.shared("\u00e9", "\u00e8") == 0
