"""Reference survival: each clause of docs/references.md worked by hand, and the fast computation against the slow."""

from __future__ import annotations

import json
import pickle
import random
import time

import corpus
import msgspec
import pytest
from corpus import recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_references import naive_counts
from samples import ASK, TASK, chat
from strategies import QUOTE, conversations, planted, transcripts

from ctxsim.simulator.references import identifiers, quotations
from ctxsim.simulator.references.canonical import canonical, fold, resolve, values
from ctxsim.simulator.references.finding import prepare, reissues
from ctxsim.simulator.references.needs import Need, word_hash
from ctxsim.simulator.references.survival import Counts, Survival, all_kept
from ctxsim.transcript import Call, Head, Sizes, Transcript
from ctxsim.view import Made, View


def sent(transcript: Transcript, number: int) -> View:
    """All that was recorded before a call."""
    view = View(Sizes(lambda item: len(item.text)))
    for item in transcript.items[: transcript.calls[number - 1].start]:
        view = view.grow([item])
    return view


def needed(transcript: Transcript, detector: str = "strict") -> list[tuple[int, str, int]]:
    """(call, atom, age) of every need."""
    found = prepare(transcript)
    return [
        (number, need.atom, need.age)
        for number in range(1, len(transcript.calls) + 1)
        for need in found.needs(number)
        if need.detector == detector
    ]


def said(transcript: Transcript) -> list[tuple[int, str, int]]:
    """(call, atom, age) of every need of what the user or the agent had said."""
    ones = prepare(transcript).said_by_call
    return [(number, one.atom, one.age) for number, held in enumerate(ones, 1) for one in held]


# canonical text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A\\nB", "a\nb"),  # one level: JSON
        ("A\\\\nB", "a\nb"),  # two levels: JSON inside JSON
        ("A\\\\\\\\nB", "a\nb"),  # three
        ('say \\\\\\"Hi\\\\\\"', 'say "hi"'),
        ("\\u00c9t\\\\u00e9", "été"),
        ("\\ud83d\\ude42", "\U0001f642"),  # a surrogate pair is one character
        ("\ud83d", "�"),  # half a pair can't be compared
        ("e\u0301", "é"),  # NFC
        ("Straße", "strasse"),  # case folding is more than lower case
        ("a\\/b", "a/b"),
        (r"\d+", r"\d+"),  # no escape of JSON: left alone
        (r"\u005c\u005cn", "\n"),  # a backslash may itself be escaped by its number
    ],
)
def test_canonical_text(text: str, expected: str) -> None:
    assert canonical(text) == expected


def test_arguments_are_values_without_keys() -> None:
    # order_id is a key; the number keeps its digits; nested values count.
    text = json.dumps({"order_id": "ab-1234", "deep": [{"some_key": 56789}, True, None]})
    assert values(text) == "ab-1234\n56789"
    assert values("not {json") == "not {json"
    assert values("[" * 100_000) == "[" * 100_000


# detectors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.org/b:80.", {"https://a.org/b"}),  # a colon parts, except in ://
        ("Mail <Bob.Lee@ex.org>!", {"bob.lee@ex.org"}),
        ("src/app/Main.py:12: error", {"src/app/main.py"}),
        ("(deadbeef01)", {"deadbeef01"}),
        ("in 1234, 123", {"1234"}),  # three digits are no atom
        ("2024-05-01", {"2024-05-01"}),
        ("10/12 1/2", {"10/12"}),  # four digits are a number; a path wants a letter
        ("gpt-4 a1b2 gpt-4o", {"gpt-4", "gpt-4o"}),  # five characters
        ("order-Ä0-4711 Ä0471 Ä047", {"order-ä0-4711", "ä0471"}),  # letters of any script
        ("заказ-4711 注文番号4711 übergröße-77", {"заказ-4711", "注文番号4711", "übergrösse-77"}),
        ("os.path.join", {"os.path.join"}),
        ("a.b.c", set()),  # a name needs six characters
        ("snake_case __init__", {"snake_case"}),
        ("getUserId GetIt plainword", {"getuserid"}),  # camel: GetIt has five
        ("max-tokens", set()),  # a hyphenated term is ordinary language
        ("`'**foo_bar**'`", {"foo_bar"}),
    ],
)
def test_strict_atoms(text: str, expected: set[str]) -> None:
    assert identifiers.atoms(resolve(text)) == expected


def test_values_and_names() -> None:
    assert all(map(identifiers.is_value, ["a/b/c.py", "1234", "ab-12", "x@y.org", "https://x.org/"]))
    assert all(map(identifiers.is_value, ["snake_case_2", "getuser2id"]))
    assert not any(map(identifiers.is_value, ["os.path.join", "snake_case", "getuserid", "utils2.py", "v1.2.3"]))


def quoted(text: str) -> set[str]:
    found = quotations.Quotations.in_texts([text])
    (numbers,) = found.held([text])
    return {found.atom(number) for number in numbers}


@pytest.mark.parametrize(
    "text", ["a_", "aB", "a.", "a/", "a@", "1a", "\\", "\\u005c", "/", "_", "x", "é1", "-1", "1.", "\\ud83d", "a@b."]
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    started = time.process_time()
    for end in ("", "!a", "~"):
        resolved = resolve(text * 100_000 + end)
        identifiers.atoms(resolved)
        quoted(fold(resolved))
    assert time.process_time() - started < 5


# needs


def test_first_use_of_a_result_is_a_need_with_its_age() -> None:
    # call 1 asks, result 2 is first sent with call 2 and used there: fresh. zebra_two is used by call 3: age 1.
    chatted = chat(
        TASK, ASK, ("tool_result", "zebra_one zebra_two"),
        ("tool_call", '{"q": "zebra_one"}'), ("tool_result", "ok"),
        ("assistant", "It is zebra_two."),
    )  # fmt: skip
    assert needed(chatted) == [(2, "zebra_one", 0), (3, "zebra_two", 1)]
    assert prepare(chatted).needs(3) == (Need("zebra_two", "strict", False, (2,), 1),)
    counts = [
        (one.refs_needed_fresh, one.refs_kept_fresh, one.refs_needed_strict) for one in all_kept(prepare(chatted))
    ]
    assert counts == [(0, 0, 0), (1, 1, 0), (0, 0, 1)]


def test_age_counts_from_the_most_recent_source() -> None:
    # Result 2 is first sent with call 2, result 4 with call 3; call 4 uses it: 4 - 3 = 1. Both are sources.
    chatted = chat(
        TASK, ASK, ("tool_result", "zebra_one"), ASK, ("tool_result", "zebra_one again"), ASK, ("tool_result", "ok"),
        ("assistant", "zebra_one"),
    )  # fmt: skip
    (need,) = prepare(chatted).needs(4)
    assert (need.sources, need.age) == ((2, 4), 1)


def test_what_the_agent_repeated_itself_is_not_needed_again_but_carried() -> None:
    chatted = chat(
        TASK, ASK, ("tool_result", "zebra_one"), ("tool_call", '{"q": "zebra_one"}'), ("tool_result", "ok"),
        ASK, ("tool_result", "ok"), ("assistant", "zebra_one"),
    )  # fmt: skip
    assert needed(chatted) == [(2, "zebra_one", 0)]
    # Call 4: newest source is the response of call 2, first sent with call 3, so age 1.
    assert prepare(chatted).carried(4) == (Need("zebra_one", "strict", False, (2, 3), 1),)
    # The result is gone: the agent's own words carry it. Without them it is lost.
    view = sent(chatted, 4).drop([2], "r")
    assert counts_of(chatted, 4, view).refs_kept_carried == 1
    assert counts_of(chatted, 4, view.rewrite({3: '{"q": ""}'}, "r")).refs_kept_carried == 0
    # As a key it was not repeated.
    assert counts_of(chatted, 4, view.rewrite({3: '{"zebra_one": 1}'}, "r")).refs_kept_carried == 0


def test_what_the_user_said_is_needed_until_the_agent_has_asked_a_tool_with_it() -> None:
    # The task is first sent with call 1, call 3 uses zebra_one of it: age 2. Call 2 had used zebra_two, in a tool call.
    used = ("assistant", "zebra_one zebra_two")
    chatted = chat(
        ("user", "zebra_one zebra_two"), ASK, ("tool_result", "ok"), ("tool_call", '{"q": "zebra_two"}'),
        ("tool_result", "ok"), used,
    )  # fmt: skip
    assert said(chatted) == [(2, "zebra_two", 1), (3, "zebra_one", 2)]
    assert needed(chatted) == []
    view = sent(chatted, 3)
    assert (counts_of(chatted, 3, view).refs_needed_user, counts_of(chatted, 3, view).refs_kept_user) == (1, 1)
    assert counts_of(chatted, 3, view.drop([0], "r")).refs_kept_user == 0
    assert counts_of(chatted, 3, view.rewrite({0: "Zebra_One, cut"}, "r")).refs_kept_user == 1
    # Neither what a head holds nor what a result had held before.
    by_head = msgspec.structs.replace(chatted, head=Head("You know zebra_one."))
    assert said(by_head) == [(2, "zebra_two", 1)]
    result = ("tool_result", "zebra_one")
    assert said(chat(("user", "zebra_one"), ASK, result, ASK, ("tool_result", ""), ("assistant", "zebra_one"))) == []


def test_earlier_answers_are_needed_in_a_conversation_without_tools() -> None:
    # Call 1 answers it, call 2 repeats it at once (age 0), call 4 uses it: newest answer first sent with call 3, age 1.
    again = ("assistant", "order_12")
    chatted = chat(TASK, again, ("user", "again"), again, ("user", "hm"), ("assistant", "-"), ("user", "which"), again)
    assert said(chatted) == [(4, "order_12", 1)]
    view = sent(chatted, 4)
    assert counts_of(chatted, 4, view.drop([1], "r")).refs_kept_user == 1
    assert counts_of(chatted, 4, view.drop([1, 3], "r")).refs_kept_user == 0


def test_a_source_in_head_or_user_text_excludes() -> None:
    use = (ASK, ("tool_result", "zebra_one"), ("assistant", "zebra_one"))
    assert needed(chat(TASK, *use)) == [(2, "zebra_one", 0)]
    assert needed(chat(("user", "find Zebra_One"), *use)) == []
    assert needed(chat(TASK, *use, head=Head("You know zebra_one."))) == []
    assert needed(chat(TASK, *use, head=Head("", ('{"name": "zebra_one"}',)))) == []


def test_a_head_of_one_call_excludes_from_that_call_on() -> None:
    chatted = chat(TASK, ASK, ("tool_result", "zebra_one zebra_two"), ("tool_call", '"zebra_one"'), ("tool_result", ""), ("assistant", "zebra_two"))  # fmt: skip # noqa: E501
    first, second, third = chatted.calls
    changed = Call(third.start, third.end, head=Head("zebra_one zebra_two"))
    assert needed(Transcript("c", Head(), chatted.items, (first, second, changed))) == [(2, "zebra_one", 0)]


def test_user_text_after_the_result_excludes_too() -> None:
    assert needed(chat(TASK, ASK, ("tool_result", "zebra_one"), ("user", "zebra_one?"), ("assistant", "zebra_one"))) == []  # fmt: skip # noqa: E501


def test_reasoning_is_ignored_as_use_and_as_source() -> None:
    # Call 2 thinks of zebra_one, call 3 says it: the first use is call 3's.
    chatted = chat(
        TASK, ASK, ("tool_result", "zebra_one"), ("reasoning", "zebra_one"), ASK, ("tool_result", "ok"),
        ("assistant", "zebra_one"),
    )  # fmt: skip
    assert needed(chatted) == [(3, "zebra_one", 1)]
    # Nor does it keep an atom alive: vendors don't resend it.
    view = sent(chatted, 3).drop([2], "r")
    assert counts_of(chatted, 3, view).refs_kept_strict == 0
    assert counts_of(chatted, 3, view.rewrite({3: "Was it zebra_one?"}, "r")).refs_kept_strict == 0


def test_arguments_keys_need_nothing() -> None:
    assert needed(chat(TASK, ASK, ("tool_result", "zebra_one"), ("tool_call", '{"zebra_one": 1}'))) == []


def test_escaped_results_are_sources() -> None:
    result = json.dumps(json.dumps({"body": 'line\n"src/Zebra.py"\tend'}))
    chatted = chat(TASK, ASK, ("tool_result", result), ("assistant", "I open src/zebra.py."))
    assert needed(chatted) == [(2, "src/zebra.py", 0)]


def test_tokens_count_whole() -> None:
    # order_12 stands only inside order_123; zebra/one inside a longer path.
    chatted = chat(TASK, ASK, ("tool_result", "order_123 a/zebra/one/b"), ("assistant", "order_12 zebra/one"))
    assert needed(chatted) == []
    kept = chat(TASK, ASK, ("tool_result", "order_12"), ASK, ("tool_result", ""), ("assistant", "order_12"))
    assert counts_of(kept, 3, sent(kept, 3).rewrite({2: "order_12, cut"}, "r")).refs_kept_strict == 1
    assert counts_of(kept, 3, sent(kept, 3).rewrite({2: "order_1"}, "r")).refs_kept_strict == 0
    assert counts_of(kept, 3, sent(kept, 3).rewrite({2: "order_123"}, "r")).refs_kept_strict == 0


def test_quotations() -> None:
    chatted = chat(TASK, ASK, ("tool_result", f"> {QUOTE}."), ASK, ("tool_result", ""), ("assistant", QUOTE.title()))
    assert needed(chatted, "loose") == [(3, QUOTE, 1)]
    counts = counts_of(chatted, 3, sent(chatted, 3).rewrite({2: "the quick brown\nfox jumps"}, "r"))
    assert (counts.refs_needed_loose, counts.refs_kept_loose) == (1, 0)
    assert [need.detector for need in counts.lost] == ["loose"]


def test_what_was_edited_twice_for_one_request_is_back_for_the_next() -> None:
    used = ("assistant", "order_12")
    chatted = chat(TASK, ASK, ("tool_result", "order_12"), ASK, ("tool_result", ""), used, ("user", "and?"), used)
    twice = sent(chatted, 3).rewrite({2: "cut"}, "r").rewrite({2: "gone"}, "r")
    survival = Survival(prepare(chatted))
    assert survival.call(3, [Made("before_call", edit, lasting=False) for edit in twice.edits]).refs_kept_strict == 0
    assert survival.gone == set() and survival.changed == {}


def test_a_summary_keeps_what_it_holds() -> None:
    chatted = chat(TASK, ASK, ("tool_result", "order_12 5678"), ASK, ("tool_result", ""), ("assistant", "order_12 5678"))  # fmt: skip # noqa: E501
    view = sent(chatted, 3).drop([1, 2], "r").insert("It was order 5678.", 1, "r", "summary", [1, 2])
    counts = counts_of(chatted, 3, view)
    assert (counts.refs_needed_strict, counts.refs_kept_strict) == (2, 1)
    # order_12 is letters and digits, 5678 a number: both are values.
    assert (counts.refs_needed_values, counts.refs_kept_values) == (2, 1)
    assert [need.atom for need in counts.lost] == ["order_12"]


def test_reissues() -> None:
    chatted = chat(
        TASK, ("tool_call", '{"a": 1, "b": 2}'), ("tool_result", ""), ("tool_call", '{"b":2,"a":1}'),
        ("tool_call", '{"b":2,"a":1}'), ("tool_result", ""), ("tool_result", ""), ("tool_call", '{"a": 1.0, "b": 2}'),
        ("tool_result", ""), ("tool_call", '{"a":1,"b":2}'),
    )  # fmt: skip
    # 3 and 4 repeat 1, not each other; 7 is another number as written; 9 repeats the newest, 4.
    assert reissues(chatted) == {3: 1, 4: 1, 9: 4}


def counts_of(transcript: Transcript, number: int, view: View) -> Counts:
    """The counts of one call's view, after no other."""
    return Survival(prepare(transcript)).call(number, made(view))


def made(view: View) -> list[Made]:
    return [Made("before_call", edit) for edit in view.edits]


def edited(view: View, joined: int, data: st.DataObject) -> View:
    """The view of `joined` recorded items after up to three edits of any kind."""
    for _ in range(data.draw(st.integers(0, 3))):
        places = [item.place for item in view]
        chosen = data.draw(st.sets(st.sampled_from(places), max_size=6)) if places else set()
        action = data.draw(st.sampled_from(["drop", "rewrite", "insert"]))
        if action == "drop":
            view = view.drop(chosen, "r")
        elif action == "rewrite":
            view = view.rewrite({place: data.draw(planted) for place in sorted(chosen)}, "r")
        else:
            view = view.insert(data.draw(planted), data.draw(st.integers(0, joined)), "r", "summary")
    return view


@settings(max_examples=50)
@given(st.one_of(conversations(), transcripts()))
def test_without_quotations_the_strict_needs_are_the_same(transcript: Transcript) -> None:
    whole, strict = prepare(transcript), prepare(transcript, loose=False)
    for number in range(1, len(transcript.calls) + 1):
        assert strict.needs(number) == tuple(need for need in whole.needs(number) if need.detector == "strict")


@settings(max_examples=50)
@given(st.one_of(conversations(), conversations(), transcripts()), st.data())
def test_fast_equals_slow_under_any_edits(transcript: Transcript, data: st.DataObject) -> None:
    survival = Survival(prepare(transcript))
    view, joined = View(Sizes(lambda item: 0)), 0
    for number, call in enumerate(transcript.calls, 1):
        for item in transcript.items[joined : call.start]:
            view = view.grow([item])
        joined = call.start
        request, lasting = edited(view, joined, data), data.draw(st.booleans())
        view = request.settled() if lasting else view
        later = edited(view, joined, data)
        edits = [Made("before_call", edit, lasting) for edit in request.edits]
        edits += [Made("after_call", edit) for edit in later.edits]
        assert survival.call(number, edits) == naive_counts(transcript, number, request)
        view = later.settled()


@settings(max_examples=20)
@given(conversations())
def test_references_travel_to_workers(transcript: Transcript) -> None:
    references = prepare(transcript)
    copy = pickle.loads(pickle.dumps(references))
    for name in set(references.__struct_fields__) - {"vocabulary"}:
        assert getattr(copy, name) == getattr(references, name), name
    # There the view's texts are other objects than the references' own.
    number = len(transcript.calls)
    view = sent(transcript, number).drop(range(transcript.calls[-1].start), "r")
    assert Survival(copy).call(number, made(view)) == Survival(references).call(number, made(view))


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_real_recordings_lose_nothing_and_fast_equals_slow() -> None:
    chance = random.Random(6)
    chosen, needs = 0, 0
    for transcript in recorded(every=12):
        survival = Survival(prepare(transcript))
        view, joined = View(Sizes(lambda item: len(item.text))), 0
        for number, call in enumerate(transcript.calls, 1):
            for item in transcript.items[joined : call.start]:
                view = view.grow([item])
            joined = call.start
            counts = survival.call(number)
            assert counts.lost == () and counts.refs_kept_carried == counts.refs_needed_carried
            if chance.random() < 0.5 and chosen < 60:
                chosen += 1
                old = {item.place: item.text[:500] for item in view.results[:-1] if chance.random() < 0.5}
                cut = view.rewrite(old, "r") if chance.random() < 0.5 else view.drop(old, "r")
                slow = naive_counts(transcript, number, cut)
                assert survival.call(number, [Made("before_call", edit, lasting=False) for edit in cut.edits]) == slow
                needs += slow.refs_needed_strict + slow.refs_needed_loose
    assert chosen == 60 and needs > 30


def test_identifiers_of_results_are_known_by_their_hashes() -> None:
    results = [("tool_result", "zebra_one a 4711"), ("tool_result", "zebra_two")]
    transcript = chat(TASK, ASK, results[0], ASK, results[1], ("assistant", "x"))
    found = memoryview(prepare(transcript).words).cast("I")
    assert {word_hash(word) in found for word in ("zebra_one", "zebra_two", "4711")} == {True}
    assert word_hash("zebra_three") not in found and list(found) == sorted(found)
