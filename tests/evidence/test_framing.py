"""What requests grew by, recorded beside counted: by hand, with usage that is right, or off by three tokens."""

from __future__ import annotations

from pathlib import Path

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Transcript, Usage
from evidence.corpora import write
from evidence.framing import lines, steps, transcripts


def session(off: tuple[int, ...], model: str = "o3") -> Transcript:
    """As many responses; "x" is one token, and Harmony puts 5 around a message, so an exchange is 12."""
    assembly = Assembly("s", "openai-chat")
    for number, wrong in enumerate(off):
        assembly.user("x")
        assembly.response([Part("assistant", "x")], Usage(20 + 12 * number + wrong, 1), model=model)
    return assembly.transcript()


def test_growth_is_compared_and_the_head_is_not() -> None:
    assert list(steps(session((0, 0, 0)))) == [(12, 12), (12, 12)]


def test_a_line_counts_what_is_exact_and_what_is_near(tmp_path: Path) -> None:
    write(tmp_path, session((0, 0, 3)), "a")
    assert list(lines([str(tmp_path)]))[2:] == ["| o3 | 2 | 1 | 1 | 1 | -1.5 |"]


def test_a_model_without_a_public_tokenizer_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, session((0, 0), "gemini-3-pro"), "a")
    assert not list(transcripts([str(tmp_path)])) and len(list(lines([str(tmp_path)]))) == 2
