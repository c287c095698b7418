"""Secrets by what stands before them: which values look like one."""

from __future__ import annotations

import pytest

from ctxsim.safety.redaction.context import ADDRESS, COOKIE, HEADER, HOOK, OPTION, PASSWORD, SECRET, contextual


def found(text: str) -> list[tuple[str, str]]:
    return [(kind, text[start:end]) for kind, start, end in contextual(text)]


@pytest.mark.parametrize(("text", "value"), [
    # Six characters, six of them different, with letters and digits.
    ("password: 'kqe12!'", "kqe12!"), ("password: 'ab12!'", None), ("password: 'kqq12!'", None),
    ("password: 'akqe12!'", "akqe12!"), ("password: 'abcdef!'", None), ("password: '987654!'", None),
    # A name has eight, and a digit stands beside a letter.
    ("password: 'abcdef12'", "abcdef12"), ("password: 'abcde12'", None), ("password: 'abcdef_12'", None),
    ("password: 'ab_cd_ef12'", None), ("password: 'ab-cd-ef12'", None), ("password: 'ab_cdef12'", "ab_cdef12"),
    ("password: 'ab/cdef12'", None), ("password: 'ab:cdef12'", None), ("password: 'abc.def12'", None),
    # Without quotes what is no name has a sign of passwords.
    ("password: kqe12!xy", "kqe12!xy"), ("password: kqe12*xy", None), ("password: 'kqe12*xy'", "kqe12*xy"),
    # A full stop behind it is none of it, in quotes it is.
    ("password: abcdef12.", "abcdef12"), ("password: kqe12?xy!?", "kqe12?xy"), ("password: 'kqe12!'.", "kqe12!"),
    ("password: 'abcd12!'", "abcd12!"), ("password: abcd1!", None), ("PASSWORD=abcd2ef+", "abcd2ef+"),
])  # fmt: skip
def test_which_values_are_passwords(text: str, value: str | None) -> None:
    assert found(text) == ([] if value is None else [(PASSWORD, value)])
    # Wherever it stands.
    assert found(f"é… {text}") == found(text) == found(f"{text}\n")


@pytest.mark.parametrize(("text", "value"), [
    ("secret: a1b2c3d4e5f6", "a1b2c3d4e5f6"), ("secret: a1b2c3d4e5f", None), ("secret: a1b1a1b1a1b1", None),
    ("secret: a1b2c3a1b2c3", "a1b2c3a1b2c3"),
    # Of a variable of the environment, and of no other key.
    ("ANY_KEY=a1b2c3d4e5f6", "a1b2c3d4e5f6"), ("any_key=a1b2c3d4e5f6", None), ("KEY=a1b2c3d4e5f6", None),
    # In a name digits and letters meet three times, in what may be a path five times.
    ("secret: abcdef1ghijkl2", "abcdef1ghijkl2"), ("secret: abcdef1ghijklm", None),
    ("secret: abcdef1ghij2k/lmno3", "abcdef1ghij2k/lmno3"), ("secret: abcdef1ghij2k/lmno", None),
    ("secret: abcdef1ghij2k.lmno", None),
    ("secret: abcdef1ghijkl2+", "abcdef1ghijkl2+"), ("secret: abcdef1ghijklm+", None), ("secret: abcd1efgh_ijkl", None),
    ("secret: abcd1efgh2ijkl=+", "abcd1efgh2ijkl=+"), ("secret: 'abcd1efgh2ijkl!'", None),
    ("secret: abcdefghijkl1=+", None),
])  # fmt: skip
def test_which_values_are_secrets_by_their_name(text: str, value: str | None) -> None:
    assert found(text) == ([] if value is None else [(SECRET, value)])


@pytest.mark.parametrize(("text", "kind", "value"), [
    ("Authorization: Basic Ym9iOnBhc3M0NTY=", HEADER, "Ym9iOnBhc3M0NTY="), ("bearer abcd1efgh2i", HEADER, None),
    ("bearer abcd1efgh2ij", HEADER, "abcd1efgh2ij"),
    ("Cookie: sid=abcd1efgh2ij", COOKIE, "sid=abcd1efgh2ij"), ("Cookie: sid=abcd1efgh2i", COOKIE, None),
    ("Cookie: theme=dark; lang=en", COOKIE, None),
    ("Cookie: a=b; sid=abcd1efgh2ijk", COOKIE, None), ("Cookie: ab=cdefgh; sid=abcd1efgh2ijk", COOKIE,
                                                      "ab=cdefgh; sid=abcd1efgh2ijk"),
    ("postgres://bob:hunter2@db", ADDRESS, "hunter2"), ("postgres://bob:Postgres@db", ADDRESS, None),
    ("postgres://bob:xy@db", ADDRESS, None), ("postgres://bob:xyz@db", ADDRESS, "xyz"),
    ("postgres://bob:[pw]@db", ADDRESS, None), ("postgres://bob:pw...@db", ADDRESS, None),
    ("mysql -u root -pkqe12*xy", OPTION, "kqe12*xy"), ("mysql -u root -pabcde12", OPTION, None),
    ("tool --password abcdef12", OPTION, "abcdef12"),
    ("tool --password kqe12%", OPTION, "kqe12%"), ("tool --password kq12%", OPTION, None),
    ("curl -u bob:abcdef12 x", OPTION, "abcdef12"),
    ("https://hooks.slack.com/services/T02/B03/abcd1efgh2ijkl3m", HOOK, "T02/B03/abcd1efgh2ijkl3m"),
    ("https://hooks.slack.com/services/T02/B03/abcd1efgh2ijkl3", HOOK, None),
])  # fmt: skip
def test_which_values_are_secrets_by_where_they_stand(text: str, kind: str, value: str | None) -> None:
    assert found(text) == ([] if value is None else [(kind, value)])


@pytest.mark.parametrize(("characters", "many"), [(400, 2), (401, 1)])
def test_in_a_match_of_over_400_characters_no_other_is_looked_for(characters: int, many: int) -> None:
    inner = "cookie:sid=abcd1efgh2ij"
    assert len(found("Cookie: a=".ljust(characters - len(inner), "-") + inner)) == many


def test_short_texts_hold_none() -> None:
    assert [found(text) for text in ("", "pwd", "pwd=", "a://", "xpwd")] == [[]] * 5
