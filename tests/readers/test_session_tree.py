"""Lines that name their parents: the branch that a session ended on, by hand."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from ctxsim.readers.assembly.session_tree import Envelope, beside, branch, conversations, where


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/logs/one.jsonl", "/logs/two.jsonl"),
        ("/logs/one.jsonl.gz", "/logs/two.jsonl.gz"),
        ("/logs/one.v2.zst", "/logs/two.zst"),
        # Other endings say nothing of how a session is stored.
        ("/logs/one.txt", "/logs/two.jsonl"),
        ("one", "two.jsonl"),
    ],
)
def test_another_session_lies_beside_with_the_same_suffixes(name: str, expected: str) -> None:
    assert beside(name, "two") == expected


def line(uuid: str, parent: str | None, type: str = "user", **more: object) -> Envelope:
    return Envelope(type=type, uuid=uuid, parent_uuid=parent, **more)  # type: ignore[arg-type]


def test_a_branch_is_the_chain_of_parents_from_the_last_chat_line() -> None:
    lines = [line("a", None), line("b", "a"), line("c", "b"), line("d", "a"), line("e", "d"), line("f", "b", "system")]
    assert branch(lines) == {0, 3, 4}
    # A parent that isn't there means the line before; a null one begins a conversation.
    assert branch([line("a", None), line("b", "gone"), line("c", "b")]) == {0, 1, 2}
    assert branch([line("a", None), line("b", None), line("c", "b")]) == {1, 2}
    # But at a compaction it means the line before too.
    assert branch([line("a", None), line("b", None, subtype="compact_boundary"), line("c", "b")]) == {0, 1, 2}
    assert branch([]) == set()


def test_a_session_is_where_its_first_line_says_so_in_words() -> None:
    told = [(None, 7), ("", ""), (8, None), ("/p", "2.0"), ("/q", "3.0")]
    lines = [line("a", None, cwd=cwd, version=version) for cwd, version in told]
    assert where(lines) == ("/p", "2.0") and where(lines[:3]) == ("", "")


def test_a_loop_ends() -> None:
    assert branch([line("a", None), line("b", "c"), line("c", "b")]) == {1, 2}


def test_sub_agents_are_told_by_their_id_their_parent_or_their_first_line() -> None:
    lines = [
        line("a", None), line("b", None, is_sidechain=True), line("c", "b", "assistant", is_sidechain=True),
        line("d", None, is_sidechain=True, agent_id="x"), line("e", None, "system", is_sidechain=True),
    ]  # fmt: skip
    told = conversations("s", lines, lambda *_: "")
    found = [(name, parent, [one.uuid for one in own]) for name, parent, own in told]
    # The last one says nothing.
    assert found == [("s", None, ["a"]), ("s#b", "s", ["b", "c"]), ("s#x", "s", ["d"])]


@pytest.mark.parametrize("session", ["a/b", "..", "x\0y"])
def test_a_sub_agents_file_is_read_whatever_its_session_is_called(session: str) -> None:
    lines = [line("a", None, is_sidechain=True, agent_id="x", session_id=session)]
    told = [parent for name in ("s/subagents/x.jsonl", "x.jsonl") for _, parent, _ in conversations(name, lines, _main)]
    assert told == [f"s {session}", f"{session}.jsonl"]


def _main(folder: PurePath, session: str) -> str:
    return f"{folder} {session}"
