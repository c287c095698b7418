"""Messages: one line each, in words that agree with their numbers, with the names that somebody may have meant."""

from __future__ import annotations

import importlib.metadata
import pickle
from types import SimpleNamespace

import pytest

from ctxsim.errors import (
    CtxsimError,
    InputError,
    NotATranscript,
    agreed,
    how_to_install,
    many,
    nearest,
    one_line,
    told,
    unknown,
)


@pytest.mark.parametrize(
    ("text", "longest", "line"),
    [
        ("a\n b\t\tc ", 5, "a b c"), ("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcdef ... (1 characters more)"),
        ("x" * 1_900, 1_900, "x" * 1_900), ("x" * 3_106, 6, "xxxxxx ... (3,100 characters more)"),
    ],
)  # fmt: skip
def test_a_text_becomes_a_line_of_a_limited_length(text: str, longest: int, line: str) -> None:
    assert one_line(text, longest) == line


def test_a_message_has_at_most_1900_characters() -> None:
    assert str(CtxsimError("x" * 1_900)) == one_line("x" * 1_900) == "x" * 1_900
    assert str(CtxsimError("x" * 1_901)) == one_line("x" * 1_901) == "x" * 1_900 + " ... (1 characters more)"


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert str(InputError("caf\udce9.jsonl", "is no transcript")) == r"caf\udce9.jsonl: is no transcript"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 note(s)", "1 note"), ("2 note(s)", "2 notes"), ("0 note(s)", "0 notes"), ("11 note(s)", "11 notes"),
        ("1,001 note(s)", "1,001 notes"), ("1 policy(s)", "1 policy"), ("2 policy(s)", "2 policies"),
        ("21 policy(s)", "21 policies"), ("3 key(s) of 1 file(s)", "3 keys of 1 file"),
        ("2 policy(s), 1 note(s) and 3 entry(s)", "2 policies, 1 note and 3 entries"),
        ("4 more open session(s)", "4 more open sessions"), ("no number(s)", "no number(s)"),
    ],
)  # fmt: skip
def test_words_agree_with_the_number_before_them(text: str, said: str) -> None:
    assert agreed(text) == said


def test_many_things() -> None:
    assert (many(1, "session(s)"), many(1_234, "policy(s)")) == ("1 session", "1,234 policies")


def test_an_exception_of_others_is_told_with_its_place() -> None:
    def raised() -> BaseException:
        try:
            raise ValueError("two\nlines")
        except ValueError as error:
            return error

    line = raised.__code__.co_firstlineno + 2
    assert told(raised()) == f"ValueError: two lines (test_errors.py:{line})"
    assert told(KeyError("never raised")) == "KeyError: 'never raised'"


def test_an_error_of_a_file_says_where_and_survives_another_process() -> None:
    error = NotATranscript("a.json", "holds nothing")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.where, again.what) == (NotATranscript, "a.json", "holds nothing")
    assert str(again) == str(error) == "a.json: holds nothing"
    assert InputError(3, "x").where == "3"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        # At most three, the closest first.
        ("codx", ["codex", "pi"], "did you mean codex?"), ("zzz", ["codex", "pi"], ""), ("", ["codex"], ""),
        ("aaaa1", ["aaaa2", "aaaa3", "aaaa4", "aaaa5"], "did you mean aaaa5 or aaaa4 or aaaa3?"),
        # One that begins alike is close, however long it is.
        ("oracle", ["oracle-lossless-of-all", "pi"], "did you mean oracle-lossless-of-all?"),
        # With the character after it: twice 2 of 2 + 3 characters is 0.8.
        ("pi", ["pi-mono-of-somebody"], "did you mean pi-mono-of-somebody?"), ("pu", ["pi-mono-of-somebody"], ""),
        ("aaaa1", ["aaaa2", "aaaa3", "aaaa4", "aaaa1-which-is-much-longer"], "did you mean aaaa4 or aaaa3 or aaaa2?"),
    ],
)  # fmt: skip
def test_the_names_that_may_be_meant(name: str, known: list[str], said: str) -> None:
    assert nearest(name, known) == said


@pytest.mark.parametrize(
    ("kind", "name", "known", "said"),
    [
        ("agent", "codx", ["codex", "pi"], "unknown agent 'codx'; did you mean codex?"),
        ("agent", "zzz", ["pi", "codex"], "unknown agent 'zzz'; known: codex, pi"),
        ("agent", "zzz", [f"a{n}" for n in range(10, 50)],
         f"unknown agent 'zzz'; known: {', '.join(f'a{n}' for n in range(10, 50))}"),
        ("agent", "zzz", [f"a{n}" for n in range(10, 51)], "unknown agent 'zzz'; see: ctxsim list agents"),
        ("policy", "zzz", [f"a{n}" for n in range(10, 51)], "unknown policy 'zzz'; see: ctxsim list policies"),
        ("column of calls", "zzz", [f"a{n}" for n in range(10, 51)],
         "unknown column of calls 'zzz'; see: ctxsim list columns"),
    ],
)  # fmt: skip
def test_of_an_unknown_name_up_to_forty_known_ones_are_listed(
    kind: str, name: str, known: list[str], said: str
) -> None:
    assert str(unknown(kind, name, known)) == said


def installed(monkeypatch: pytest.MonkeyPatch, requires: list[str] | None) -> None:
    """As if a ctxsim that requires this was installed."""
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: SimpleNamespace(requires=requires))


def test_what_installs_an_extra_is_what_it_needs_and_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = ["click>=8", "starlette>=1 ; extra == 'live'", 'uvicorn[standard]>=0.30; extra == "live"',
                "dask>=1; extra == 'cluster'"]  # fmt: skip
    installed(monkeypatch, requires)
    assert how_to_install("live") == "pip install 'starlette>=1' 'uvicorn[standard]>=0.30'"


def test_without_an_installed_package_its_own_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", none)
    assert how_to_install("live") == "install ctxsim by pip, from its own folder or repository"
    installed(monkeypatch, None)
    assert how_to_install("live") == "pip install "
