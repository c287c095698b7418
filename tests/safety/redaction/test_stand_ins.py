"""What stands for a name: as long, of the same kinds of characters, of as many tokens, and for nobody else."""

from __future__ import annotations

import unicodedata

import pytest

from ctxsim.safety.redaction.stand_ins import StandIns


def alike(texts: list[str]) -> list[int]:
    return [1] * len(texts)


def a_s(texts: list[str]) -> list[int]:
    """As many tokens as it has a's."""
    return [text.count("a") for text in texts]


def test_of_many_stand_ins_the_one_of_the_nearest_number_of_tokens_is_taken() -> None:
    # Of 64 draws of four vowels some have two a's or more, and many none.
    assert 2 <= StandIns(a_s).of("aaaa").count("a") < 4
    asked: list[int] = []
    StandIns(lambda texts: (asked.append(len(texts)), a_s(texts))[1]).of("Q7wErTy9uIoPaSdF")
    assert asked == [65], "the name itself, and 64 others"


def test_a_name_never_stands_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only "a" has as many a's as "a", and nothing else may stand for "-".
    assert StandIns(a_s).of("a") in "eiou" and StandIns(alike).of("-") == "-"
    # One that looks like a key is better than the original.
    monkeypatch.setattr("ctxsim.safety.redaction.stand_ins.likely_keys", lambda text: [text])
    assert StandIns(a_s).of("a") in "eiou"


def test_no_two_names_have_the_same_and_none_has_anothers() -> None:
    made, names = StandIns(alike), [f"{number}" for number in range(10, 40)]
    made.avoid(names)
    found = [made.of(name) for name in names]
    assert len(set(found)) == 30 and not set(found) & set(names)
    assert [made.of(name) for name in names] == found, "the same for the same"
    # Where all are taken another's is better than its own.
    few = StandIns(alike)
    few.avoid("aeiou")
    assert few.of("a") in "eiou"


@pytest.mark.parametrize(("original", "kinds"), [
    ("Ab9-xE_é", "Lu Ll Nd Pd Ll Lu Pc Ll"), ("\\n%41.com", "Po Ll Po Nd Nd Po Ll Ll Ll"),
    ("я" * 40, "Ll " * 40),
])  # fmt: skip
def test_each_character_is_of_the_kind_that_it_stands_for(original: str, kinds: str) -> None:
    made = StandIns(alike).of(original)
    assert list(map(unicodedata.category, made)) == kinds.split()
    for vowels in ("aeiou", "AEIOU"):
        assert [one in vowels for one in made if one.isascii()] == [one in vowels for one in original if one.isascii()]


def test_escapes_and_endings_stay_and_letters_of_other_scripts_have_their_block() -> None:
    made = StandIns(alike).of("\\nab%41c@x1.com", address=True)
    assert (made[:2], made[4:7], made[-4:]) == ("\\n", "%41", ".com")
    assert made[2:4] + made[7] + made[9:11] != "abcx1"
    # 64 code points from U+0440 on, of which lower-case letters alone.
    assert all(0x440 <= ord(one) < 0x480 for one in StandIns(alike).of("я" * 60))
    assert all(0xC0 <= ord(one) < 0x100 for one in StandIns(alike).of("é" * 60))


def test_only_addresses_keep_their_ending() -> None:
    made = StandIns(alike)
    assert made.of("klaus.lee", address=True).endswith(".lee")
    assert not made.of("klaus.lee").endswith(".lee"), "the surname of an account, whatever was replaced before"
