"""All that is known of one small conversation, by hand; and what can be fetched again."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import chat

from ctxsim.simulator.references.canonical import canonical, content, values
from ctxsim.simulator.references.fetching import _NAMED, _PATH, Fetching, _paths, only_looks
from ctxsim.simulator.references.finding import first_sent, prepare
from ctxsim.simulator.references.needs import Held, Need, Vocabulary
from ctxsim.simulator.references.quotations import Quotations
from ctxsim.transcript import Head, Item, Transcript

QUOTE = "the quick brown fox jumps"
MADE = chat(
    ("user", "Look at zebra_user and zebra_said."),
    ("tool_call", '{"q": "a"}'),
    ("tool_result", f"zebra_one zebra_two 4711 zebra_head zebra_user {QUOTE}"),
    ("tool_call", '{"q": "zebra_one"}'),
    ("tool_result", "zebra_one again"),
    ("tool_call", '{"q": "a"}'),
    ("tool_result", "same"),
    ("assistant", f"zebra_one zebra_two zebra_user zebra_head zebra_said 4711; {QUOTE}."),
    ("tool_call", '{"q": "zebra_one"}'),
    ("tool_result", "zebra_one"),
    ("user", "zebra_said"),
    ("assistant", "zebra_said"),
    head=Head("You know zebra_head."),
)
"""Five calls, at 1, 3, 5, 7 and 11. Results stand at 2, 4, 6 and 9."""


def test_all_that_is_known() -> None:
    found = prepare(MADE)
    assert found.needs_by_call == (
        (),
        # Sent and used at once.
        (Need("zebra_one", "strict", False, (2,), 0),),
        (),
        # Result 2 was first sent with call 2. zebra_one the agent had written itself, the user and the head the others.
        (
            Need("4711", "strict", True, (2,), 2), Need("zebra_two", "strict", False, (2,), 2),
            Need(QUOTE, "loose", False, (2,), 2),
        ),
        (),
    )  # fmt: skip
    # Of what the agent had written the newest source is result 4, first sent with call 3, the third of those that hold
    # it; the next response and result 9 come later.
    carried = (Held("4711", 1, 2), Held("zebra_one", 3, 1), Held("zebra_two", 1, 2))
    assert found.carried_by_call == ((), (), (), carried, ())
    assert found.holders == {"4711": (2, 7), "zebra_one": (2, 3, 4, 7, 8, 9), "zebra_two": (2, 7)}
    # What the user said first is in no result.
    assert found.said_by_call == ((), (), (), (Held("zebra_said", 1, 3),), ())
    assert found.sayers == {"zebra_said": (0, 7, 10)}
    assert found.newest_by_call == (frozenset(), frozenset({2}), frozenset(), frozenset({0, 2, 4}), frozenset())
    # Call 3 asks what call 1 had asked, and call 4 what call 2 had: their results stand at 2 and 4.
    assert found.asked_again == {3: (2,), 4: (4,)}
    assert found.last_needed() == {2: 4}
    assert found.needs(4) == found.needs_by_call[3]
    assert found.carried(4) == (
        Need("4711", "strict", True, (2,), 2), Need("zebra_one", "strict", False, (2, 3, 4), 1),
        Need("zebra_two", "strict", False, (2,), 2),
    )  # fmt: skip
    assert first_sent(MADE) == [1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6]


def test_a_vocabulary_is_looked_for_in_what_counts() -> None:
    both = Vocabulary([("strict", "ab-12"), ("loose", QUOTE)])
    assert both.held(f"see ab-12: {QUOTE}") == {("strict", "ab-12"), ("loose", QUOTE)}
    # Of a call only the values count, of other items all.
    call, said = (Item(kind, 0, 0, '{"ab-12": 1}') for kind in ("tool_call", "user"))  # type: ignore[arg-type]
    assert (both.held_by(call), both.held_by(said)) == (set(), {("strict", "ab-12")})


@pytest.mark.parametrize(("text", "expected"), [
    (r"a\tb\rc\bd\fe", "a\tb\rc\bd\x0ce"), (r"it\'s \"so\"", "it's \"so\""), ("\u1e9e", "ss"), ("\u0130", "i\u0307"),
    ("\ufb01n", "fin"), (r"\u00C9", "\u00e9"), ("No Escape", "no escape"), ("", ""),
])  # fmt: skip
def test_canonical_text(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(("arguments", "lines"), [
    ('{"b": "2", "a": ["x", {"c": 3.50}, "y"], "n": null, "t": true}', "2\nx\n3.50\ny"), ('"text"', "text"),
    ("[]", ""), ("7", "7"), ("no JSON", "no JSON"),
])  # fmt: skip
def test_values_come_in_the_order_in_which_they_are_written(arguments: str, lines: str) -> None:
    assert values(arguments) == lines


@pytest.mark.parametrize(("tool", "text", "looks"), [
    ("frobnicate", "{}", False), ("Read", "{}", True), ("readFile", "{}", True), ("WebSearch", "{}", True),
    # What acts and looks acts, whatever it is given; a shell goes by its commands.
    ("edit_and_view", "{}", False), ("READ", "{}", True), ("Bash", '{"command": "ls"}', True),
    ("Bash", '{"command": "ls; rm x"}', False), ("Bash", '{"command": "/bin/rm x"}', False),
    ("Bash", '{"command": "cat a || rm a"}', False), ("Bash", '{"command": "cat a\\nmv a b"}', False),
    ("run_shell", '{"command": "git log; git status"}', True), ("exec", '{"command": "git -C x commit"}', False),
    ("Bash", '{"command": "sed -n 1p a"}', True), ("Bash", '{"command": "sed -i s/a/b/ a"}', False),
    ("Bash", '{"command": "gh pr view"}', True), ("Bash", '{"command": "gh pr merge 1"}', False),
    ("Bash", '{"command": "echo a >> b.txt"}', False), ("Bash", '{"command": "ls 2>&1"}', True),
    ("Bash", '{"command": "ls > /dev/null"}', True), ("Bash", '{"command": " ; "}', True),
    ("Bash", '{"command": "echo rm"}', True),
])  # fmt: skip
def test_what_only_looks(tool: str, text: str, looks: bool) -> None:
    assert only_looks(Item("tool_call", 0, 0, text, tool)) is looks


def test_the_newest_result_that_can_be_fetched_again_is_the_one() -> None:
    items: list[Item] = []
    read, write = ("Read", "a/b.py"), ("Write", "x.py a/b.py")
    for tool, path in [read, read, write, ("Write", "c.py"), ("Read", "c.py")]:
        place = len(items)
        items.append(Item("tool_call", place, place, json.dumps({"path": path}), tool))
        items.append(Item("tool_result", place + 1, place + 1, "text", tool, place))
    fetching = Fetching(Transcript("made", Head(), tuple(items), ()))
    assert [fetching.source(places) for places in ([1, 3, 5], [1, 3], [5, 7], [])] == [3, 3, None, None]
    # Calls stand at 0, 2, 4, 6 and 8. The writer at 4 names the path of the first two.
    assert [fetching.changed(1, before) for before in (4, 5)] == [False, True]
    assert [fetching.changed(3, before) for before in (4, 5)] == [False, True]
    assert [fetching.changed(5, before) for before in (9, 10)] == [False, False]
    # Nothing changes c.py behind the last result; the writer at 6 came before it.
    assert [fetching.changed(9, before) for before in (9, 10)] == [False, False]


@pytest.mark.parametrize(("said", "found"), [
    # Three of five words must have three letters: digits are none, in no script, and paths and addresses don't count.
    ("to it elephant brown foxes", True), ("to it is elephant brown", False),
    ("\u0663\u0664\u0665 to it elephant brown", False),
    ("\u00e9t\u00e9 to it elephant brown", True), ("a1b to it elephant brown", False), ("a1bc to it elephant brown",
    True),
    ("to it me@elephant.org brown foxes", False), ("to it in/elephant brown foxes", False),
    ("to it x://elephant brown foxes", False), ("to it elephant/b brown foxes", False),
    ("to it elephant brown", False), ("to it elephant\nbrown foxes", False),
])  # fmt: skip
def test_what_is_a_quotation(said: str, found: bool) -> None:
    quotations = Quotations.in_texts([said])
    (numbers,) = quotations.held()
    assert bool(numbers) is found
    assert [quotations.atom(number) for number in numbers] == ([said] if found else [])


@given(st.text("ab1./~- ", max_size=24))
def test_a_word_names_one_path(text: str) -> None:
    call = Item("tool_call", 0, 0, text, tool="Bash")
    assert _paths(call) == {path for word in _NAMED.findall(content(call)) for path in _PATH.findall(word)}


def test_time_is_linear_in_a_word_that_is_nearly_a_path() -> None:
    began = time.process_time()
    assert not _paths(Item("tool_call", 0, 0, "a" * 100_000 + ".", tool="Bash"))
    assert time.process_time() - began < 1
