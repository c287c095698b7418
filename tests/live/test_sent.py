"""An agent's requests by hand: as edits of the grown history, as an observation, and beside a policy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from samples import chat, conversation

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.live.differences import Amounts, Comparison, Difference, compared
from ctxsim.live.log import Entry
from ctxsim.live.observed import CHANGED, NEW, NOT_SENT, SENT_TWICE, Observation, Shown, as_sent, observe
from ctxsim.live.script import script_of
from ctxsim.policies import Overflow
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import Call, Head, Item, Sizes, Transcript, Usage
from ctxsim.view import Edit, View

ITEMS = [Item("user", 0, 0, "task"), Item("tool_call", 1, 1, "{}", "t"), Item("tool_result", 2, 2, "found", "t", 1)]


def view() -> View:
    return View(Sizes(lambda one: len(one.text))).grow(ITEMS)


KEPT = [Shown(item.place, item.text) for item in ITEMS]


def edits(made: View) -> list[tuple[str, int | None, str]]:
    """What happened, to which recorded item, and why."""
    return [(one.action, one.before.place if one.before else None, one.reason) for one in made.edits]


def texts(made: View) -> list[str]:
    return [item.text for item in made]


def test_a_request_that_holds_all_is_no_edit() -> None:
    assert as_sent(view(), KEPT).edits == ()


def test_what_is_left_out_changed_or_new() -> None:
    made = as_sent(view(), [Shown(0, "TASK"), Shown(None, "a word"), Shown(2, "found")])
    assert texts(made) == ["TASK", "a word", "found"]
    # Without the call its result stands alone: the longest text of its own stands for what left.
    assert edits(made) == [("dropped", 1, NOT_SENT), ("edited", 0, CHANGED), ("inserted", None, NEW)]
    (summary,) = [item for item in made if item.synthetic]
    assert (summary.kind, summary.sources, summary.at) == ("summary", (1,), 2)


def test_of_several_texts_of_its_own_the_longest_is_the_summary() -> None:
    own = [Shown(None, "short"), Shown(None, "as long as it gets"), Shown(None, "again", SENT_TWICE)]
    made = as_sent(view(), [Shown(0, "task"), *own])
    assert [(item.kind, item.text, item.sources) for item in made if item.synthetic] == [
        ("note", "short", ()), ("summary", "as long as it gets", (1, 2)), ("note", "again", ()),
    ]  # fmt: skip
    assert [edit.reason for edit in made.edits] == [NOT_SENT, NOT_SENT, NEW, NEW, SENT_TWICE]
    # Where all left, it stands for the first item too.
    assert [item.sources for item in as_sent(view(), own[:1])] == [(0, 1, 2)]
    # Where nothing left, all of them are notes.
    made = as_sent(view(), [*KEPT, *own])
    assert [(item.kind, item.at) for item in made if item.synthetic] == [("note", 3)] * 3


def test_what_a_view_has_of_the_agents_own_stays_while_it_is_sent() -> None:
    before = as_sent(view(), [Shown(None, "twice"), Shown(None, "twice"), Shown(None, "gone"), *KEPT]).settled()
    assert texts(before) == ["twice", "twice", "gone", "task", "{}", "found"]
    made = as_sent(before, [Shown(None, "twice"), *KEPT, Shown(None, "new")])
    assert texts(made) == ["twice", "task", "{}", "found", "new"]
    # Of the two the second went; what isn't of the recording is no source of a summary.
    assert edits(made) == [("dropped", -2, NOT_SENT), ("dropped", -3, NOT_SENT), ("inserted", None, NEW)]
    assert made[-1].kind == "note"
    # Of a place that is sent twice the first text holds.
    assert texts(as_sent(view(), [*KEPT, Shown(0, "other")]))[0] == "task"
    assert [item.at for item in as_sent(View(Sizes(lambda one: 1)), [Shown(None, "alone")])] == [0]


# observations

TASK = {"role": "user", "content": "Do the task."}


def call(number: int, tool: str = "bash") -> dict[str, Any]:
    made = {"id": f"call_{number}", "type": "function", "function": {"name": tool, "arguments": f'{{"n": {number}}}'}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text}


def entry(step: int, messages: list[Any], said: dict[str, Any] | None = None, **more: Any) -> Entry:
    """One request of the conversation with its answer; where it has none it was refused."""
    response = {"choices": [{"index": 0, "message": said}]} if said else {"error": {"message": f"Refused {step}."}}
    given: dict[str, Any] = {
        "session": "s", "number": 1, "kind": "main", "step": step, "status": 200 if said else 400,
        "tokens": 100 + step, "output": step, "cost_usd": None, "request": {"messages": messages},
        "response": response, "api": "chat", **more,
    }  # fmt: skip
    return Entry(**given)


ENV = {"role": "user", "content": "<env>Linux</env>"}
DONE = {"role": "assistant", "content": "Done."}
PLAYED = conversation("found it", system="You help.")
SYSTEM = {"role": "system", "content": "I am an agent."}


def whole() -> list[Entry]:
    return [
        entry(1, [SYSTEM, ENV, TASK], call(1)),
        entry(2, [SYSTEM, ENV, TASK, call(1), result(1, "Output: found it")], DONE),
    ]  # fmt: skip


def test_an_observation_has_the_scripts_places_and_the_agents_words() -> None:
    seen = observe("observed:mine", script_of(PLAYED), whole())
    made = seen.transcript
    assert made.items == (
        Item("user", 0, 1, "Do the task."), Item("tool_call", 1, 2, '{"n": 1}', "bash", call_id="call_1"),
        Item("tool_result", 2, 3, "Output: found it", "bash", 1, "call_1"), Item("assistant", 3, 4, "Done."),
    )  # fmt: skip
    # What stands before the first prompt is part of the head.
    assert made.head == Head("I am an agent.\n\n<env>Linux</env>")
    assert made.calls == (Call(1, 2, Usage(101, 1)), Call(3, 4, Usage(102, 2)))
    tries = (
        ((Shown(0, "Do the task."),),),
        ((Shown(0, "Do the task."), Shown(1, '{"n": 1}'), Shown(2, "Output: found it")),),
    )
    assert seen == Observation("observed:mine", made, tries, {}, {}, ())
    assert (seen.spec().label, len(seen.spec().links)) == ("observed:mine", 1)


def test_retries_refusals_and_what_is_no_conversation() -> None:
    title, other = (entry(0, [TASK], DONE, kind=kind) for kind in ("title", "other"))
    one, two = whole()
    entries = [
        title, one, msgspec.structs.replace(one, retry=True), other, entry(2, [TASK], status=429),
        entry(2, [ENV, TASK]), two,
        entry(3, [TASK], DONE), entry(4, [TASK], DONE), title,
    ]  # fmt: skip
    seen = observe("observed:mine", script_of(PLAYED), entries)
    # Before the first call a title, before the second what nobody knew, behind the last another title.
    assert seen.helpers == {1: [title], 2: [other], 3: [title]}
    assert seen.notes == ("1 requests that nobody recognised", "2 requests past the end of the script")
    # A request that was refused for the window and its next try are one call.
    assert [[len(shown) for shown in tries] for tries in seen.attempts] == [[1], [1, 3]]
    assert seen.refused == {} and seen.transcript.calls[1].usage == Usage(102, 2)
    ended = observe("observed:mine", script_of(PLAYED), entries[:-4])
    assert ended.refused == {2: "Refused 2."} and ended.transcript.calls[1].usage is None
    assert observe("x", script_of(PLAYED), [one, entry(2, [TASK], response={"error": "no"})]).refused == {2: ""}


def test_each_refusal_is_followed_by_the_agents_next_try() -> None:
    one, two = whole()
    refused = [entry(2, [ENV, TASK, call(1)]), entry(2, [ENV, TASK])]
    seen = observe("observed:mine", script_of(PLAYED), [one, *refused, two])
    (policy,) = seen.spec().create()
    policy.start()
    before = View(Sizes(lambda one: len(one.text))).grow(seen.transcript.items[:1])
    assert texts(policy.before_call(before)) == ["Do the task."]  # type: ignore[arg-type]
    grown = before.grow(seen.transcript.items[1:3])
    assert len(policy.before_call(grown)) == 2  # type: ignore[arg-type]
    tries = [policy.on_overflow(grown, Overflow("too long", 9)) for _ in range(3)]
    assert [None if made is None else len(made) for made in tries] == [1, 3, None]


def test_an_agent_that_ended_early_and_one_whose_head_changes() -> None:
    early = observe("observed:mine", script_of(PLAYED), whole()[:1]).transcript
    assert (len(early.calls), [item.place for item in early.items]) == (1, [0, 1])
    one, two = whole()
    other = {**SYSTEM, "content": "Another day."}
    two = msgspec.structs.replace(two, request={"messages": [other, *two.request["messages"][1:]]})
    calls = observe("observed:mine", script_of(PLAYED), [one, two]).transcript.calls
    assert [call.head for call in calls] == [None, Head("Another day.\n\n<env>Linux</env>")]


def test_what_an_agent_sends_twice_and_what_it_adds_later() -> None:
    one, two = whole()
    messages = [*two.request["messages"], {**TASK}, {"role": "user", "content": "<env>Later</env>"}]
    seen = observe(
        "observed:mine", script_of(PLAYED), [one, msgspec.structs.replace(two, request={"messages": messages})]
    )
    assert seen.attempts[1][0][3:] == (Shown(None, "Do the task.", SENT_TWICE), Shown(None, "<env>Later</env>"))
    assert seen.transcript.calls[1].head is None


# beside a policy

COUNT: Counter = Provider().counter()


def observed(*texts: str, played: Transcript | None = None) -> Observation:
    """An agent that plays a conversation of some results to its end, and sends these in their place."""
    played = played or PLAYED
    messages: list[Any] = [TASK]
    entries = []
    for number, text in enumerate(texts, 1):
        entries.append(entry(number, [*messages], call(number)))
        messages += [call(number), result(number, text)]
    entries.append(entry(len(texts) + 1, messages, DONE))
    return observe("observed:mine", script_of(played), entries)


def test_an_agent_and_a_policy_that_send_the_same() -> None:
    provider = Provider(prices=Prices(input=1.0, output=10.0))
    found = compared(observed("found it"), "keep-all", provider)
    sizes = [COUNT.text("Do the task."), sum(map(COUNT.text, ("Do the task.", "bash", '{"n": 1}', "found it")))]
    # The endpoint counted one token of output, then two.
    both = Amounts(sum(sizes), max(sizes), pytest.approx((sum(sizes) + 10 * 3) / 1e6))
    assert found == Comparison(None, both, both)
    assert compared(observed("found it"), "keep-all", Provider()).agent.usd is None


LINES = "\n".join(f"line {n} of the result" for n in range(1_000))


def cut(lines: int, words: int = 0) -> Difference | None:
    """How an agent that sends so many of 1,000 lines, and words of its own, differs from one that sends all of them."""
    text = "\n".join([*LINES.splitlines()[:lines], *([" a" * words] if words else [])])
    return compared(observed(text, played=conversation(LINES)), "keep-all", Provider()).first


def test_what_is_a_difference_between_two_forms_of_a_result() -> None:
    size = COUNT.text("\n".join(LINES.splitlines()[:10])) / 10
    # Up to 2 % less of the lines, and up to 128 tokens of other words.
    assert cut(1_000) is None is cut(981) and cut(990, words=128) is None
    less, more = cut(979), cut(990, words=129)
    assert less is not None and more is not None and 6 <= size <= 8
    sent, full = COUNT.text("\n".join(LINES.splitlines()[:979])), COUNT.text(LINES)
    assert less.lines == (f"item 2 (bash): agent sends {sent:,} tokens, policy sends {full:,} tokens",)
    assert (less.call, less.tokens_policy - less.tokens_agent) == (2, full - sent)


@pytest.mark.parametrize(("words", "differs"), [(31, False), (32, True)])
def test_of_small_results_thirty_two_tokens_are_no_difference(words: int, differs: bool) -> None:
    # A line of so many words, and its end.
    whole = "first line\n" + " a" * words
    assert COUNT.text(whole) - COUNT.text("first line") == words + 1
    found = compared(observed("first line", played=conversation(whole)), "keep-all", Provider()).first
    assert (found is not None) == differs


def test_what_one_of_them_leaves_out_and_summaries_that_one_makes() -> None:
    turns = chat(("user", "Do the task."), ("assistant", "One."), ("user", "Do more of it."), ("assistant", "Two."))
    first = entry(1, [TASK], {"role": "assistant", "content": "One."})
    sums = {"role": "user", "content": "Summary: it is done in part."}
    more = {"role": "user", "content": "Do more of it."}
    seen = observe(
        "observed:mine", script_of(turns), [first, entry(2, [sums, more], {"role": "assistant", "content": "Two."})]
    )
    found = compared(seen, "keep-all", Provider())
    sizes = [COUNT.text(text) for text in ("Do the task.", "One.", "Do more of it.", str(sums["content"]))]
    assert found.first == Difference(2, sizes[2] + sizes[3], sum(sizes[:3]), (
        f"item 0 (user): agent leaves it out, policy sends {sizes[0]} tokens",
        f"item 1 (assistant): agent leaves it out, policy sends {sizes[1]} tokens",
        "summaries: agent 1, policy 0",
    ))  # fmt: skip


def test_edits_say_what_stood_there() -> None:
    made = as_sent(view(), [KEPT[0], KEPT[1], Shown(2, "cut")])
    assert made.edits == (Edit(ITEMS[2], ITEMS[2].with_text("cut"), 2, CHANGED),)
