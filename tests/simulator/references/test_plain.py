"""What looks for things in columns finds what one finds who reads text by text, word by word."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_references import depth, identifiers, quotations, repeats, resolved, runs
from samples import TASK, chat

from ctxsim.simulator.measure.losses import depth_in
from ctxsim.simulator.references import identifiers as strict
from ctxsim.simulator.references import quotations as loose
from ctxsim.simulator.references.canonical import fold, plain, resolve, spaced
from ctxsim.simulator.references.finding import reissues
from ctxsim.simulator.references.needs import Need

# Words of eight bytes are told apart otherwise than longer ones, letters of other scripts otherwise than ASCII.
WORDS = [
    "to", "the", "fox", "a1b", "_x", "12", "orderly", "eightbyt", "eightbytes", "eightbyte", "ninebytes", "été", "ﬁn",
    "straße", "İx", "ſo", "漢字", "漢字漢字", "привет", "٣٤", "a٣b", "a²bc", "q\u0301x", "\u0345ab", "longest" * 40,
]  # fmt: skip
OTHERS = [
    " ", " ", " ", "-", "\n", "\r\n", "\t", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "—", "—\xa0", "🙂", "\x00",
    "\x01", "\x02", "/", "//", "@", ":", "://", ".", ",", "\\", "\\\\", "\\n", "\\u00e9", "\\u005c", "'", '"', "�", "",
]  # fmt: skip
NAMES = ["a.b_c", "getUserId", "fooBar\u0345x", "src/Main.py", "ab-12", "x@y.org", "https://x.org/a", "(order_12)."]
pieces = st.lists(st.sampled_from([*WORDS, *OTHERS, *OTHERS, *NAMES]) | st.text(max_size=2), max_size=60)
few = st.tuples(st.sampled_from(["the", "fox", "to", "ninebytes"]), st.sampled_from([" ", *OTHERS])).map("".join)
texts = pieces.map("".join) | st.lists(few, min_size=5, max_size=30).map("".join)


@given(st.text(st.sampled_from('\\\\\\nrtbf"/u0050cCé\ud83d\ude42e\u0301'), max_size=30) | texts)
@example("\\b \\u00E9 \\\\f \\/ \\u005C\\u005ct")
def test_escapes(text: str) -> None:
    assert resolve(text) == resolved(text)


@settings(max_examples=50)
@given(st.lists(texts, max_size=4))
def test_identifiers_are_found_whatever_was_looked_into_before(found: list[str]) -> None:
    canonical = [fold(resolve(text)) for text in found]
    atoms = [identifiers(resolve(text)) for text in found]
    assert [strict.atoms(resolve(text)) for text in found] == atoms
    every = set[str]().union(*atoms)
    wanted = strict.Wanted(every.__contains__)
    inside = list(map(strict.tokens, canonical))
    assert [wanted.among(strict.spelled(plain(text))) for text in canonical] == [tokens & every for tokens in inside]
    assert set(wanted.tokens) == set[str]().union(*inside)


def said_and_held(said: list[str], others: list[str]) -> tuple[list[set[str]], list[set[str]], list[set[str]]]:
    """The quotations of some texts, and which of them others hold, looked for all at once and one by one."""
    found = loose.Quotations.in_texts([plain(spaced(text)) for text in said])
    numbers = set(range(0)).union(*found.held([plain(text) for text in said]))
    every = {number: found.atom(number) for number in numbers}
    sought = loose.Sought(every.values())
    folded = [plain(text) for text in others]
    return (
        [{every[number] for number in text} for text in found.said(numbers)],
        [{every[number] for number in text} for text in found.only(numbers).held(folded)],
        list(map(sought.held, folded)),
    )


@settings(max_examples=50)
@pytest.mark.parametrize("factor", [loose._FACTOR, 1])
@given(said=st.lists(texts, max_size=4), others=st.lists(texts, max_size=4))
@example(said=["one two six ten men", "men ten six two one"], others=["men ten six two one", "two one six ten men"])
@example(said=[" ".join(f"longword{number}" for number in range(130))], others=["a b c d e", "b c d e f"])
@example(said=["one:two three four five six", "a://b cde fgh ijk"], others=["a b cde fgh ijk"])
@example(said=["one:/two the fox to"], others=["one two the fox to"])
@example(said=["éa éa éa éa éa"], others=["éa éa éa éa éa"])
@example(said=["a/b\tone\x1dtwo three sees"], others=["the\nfox jumps over one", "the fox jumps over\none"])
@example(
    said=["the fox jumps over one", "a\nfox jumps over two"], others=["the fox\njumps over one", "a fox jumps over two"]
)
@example(said=["see a/b—c\xa0now and then one sees"], others=["see a b c now and then"])
def test_quotations(factor: int, said: list[str], others: list[str]) -> None:
    # By 1 the hash is the sum of the words: in any order they have the same.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loose, "_FACTOR", factor)
        said = [fold(resolve(text)) for text in said]
        others = [fold(resolve(text)) for text in [*others, *said]]
        atoms = list(map(quotations, said))
        held = [set(runs(text)) & set[str]().union(*atoms) for text in others]
        assert said_and_held(said, others) == (atoms, held, held)


gaps = st.sampled_from(["", " ", "*" * 600])


@given(st.lists(st.sampled_from(WORDS[:12]), min_size=5, max_size=5), pieces, gaps, pieces)
def test_depth(words: list[str], before: list[str], gap: str, after: list[str]) -> None:
    for atom, detector in ((" ".join(words), "loose"), (words[0], "strict")):
        need = Need(atom, detector, False, (0,), 1)  # type: ignore[arg-type]
        # A quotation's source always holds it.
        for middle in (atom, "") if detector == "strict" else (atom,):
            text = fold("".join([*before, gap, middle, gap, *after]))
            assert depth_in(need, text) == depth(need, text)


arguments = st.recursive(
    st.sampled_from([None, True, 1, "1", 1.0, "", "a", "a\nb", "é", float("nan"), "nan", [], {}]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abé"), inner, max_size=2),
    max_leaves=4,
)
asked = st.tuples(arguments, st.booleans(), st.sampled_from([None, 1])).map(
    lambda drawn: json.dumps(drawn[0], ensure_ascii=drawn[1], indent=drawn[2])
) | st.sampled_from(["{", "a", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 3, "a": 1, "b": 2}'])


@given(st.lists(asked, max_size=12))
def test_repeats(calls: list[str]) -> None:
    turns = [turn for text in calls for turn in (("tool_call", text), ("tool_result", ""))]
    transcript = chat(TASK, *turns, ("assistant", ""))
    assert reissues(transcript) == repeats(transcript)
