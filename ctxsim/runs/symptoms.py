"""Symptoms of defects in one replay: each is a number computed from what was sent, at best zero.

They use only `Sent` values, so that they apply to any policy: built in, adapter, or another program.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Item, Transcript

Found = Sequence[Sent]
Symptom = Callable[[Transcript, Found, Found], float]
"""A function of a transcript, what a policy sent of it, and what keep-all sent."""


def calls_without_the_task(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count calls whose request holds the first user text neither as its item nor word for word in another item."""
    first = next((item for item in transcript.items if item.kind == "user"), None)
    return 0 if first is None else sum(not _holds(one, first) for one in sent)


def user_texts_lost(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count user texts that the last request holds neither as their item nor word for word in another item."""
    last = sent[-1]
    known = transcript.items[: last.recorded.start]
    return sum(not _holds(last, item) for item in known if item.kind == "user")


def results_cut_unread(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count tool results that were cut or absent in the first request that could have shown them."""
    cut, shown = 0, 0
    for one in sent:
        new = [item for item in transcript.items[shown : one.recorded.start] if item.kind == "tool_result"]
        cut += sum(one.view.find(item.place) != item for item in new)
        shown = one.recorded.start
    return cut


SYMPTOMS: dict[str, Symptom] = {
    # Calls that the provider refused, even if a smaller request then passed, or that the policy gave up.
    "refused-calls": lambda _, sent, whole: sum(one.status != "ok" or one.attempts > 1 for one in sent),
    # Calls with a result that answers nothing, or a tool call that nothing answers.
    "unpaired-calls": lambda _, sent, whole: sum(one.status == "invalid_pairs" for one in sent),
    # Requests with no message at all: only the head is left.
    "empty-requests": lambda _, sent, whole: sum(len(one.view) == 0 for one in sent),
    "calls-without-the-task": calls_without_the_task,
    "user-texts-lost": user_texts_lost,
    "results-cut-unread": results_cut_unread,
    # Share of calls whose request isn't a continuation of the one before: a cache reads only up to there.
    "broken-prefixes": lambda _, sent, whole: (
        sum(this.changed_from < len(last.view) for last, this in pairwise(sent)) / max(1, len(sent) - 1)
    ),
    # What all calls cost, with their summaries, as a share of what keep-all's cost.
    "dollars-of-keep-all": lambda _, sent, whole: (
        sum(one.cost_usd or 0 for one in sent) / (sum(one.cost_usd or 0 for one in whole) or 1)
    ),
    # Share of calls before which the policy edited what was there: new results cut on arrival don't count.
    "edits-share": lambda _, sent, whole: (
        sum(any(moment != "on_tool_result" for moment, _ in one.edits) for one in sent) / len(sent)
    ),
    # Summaries requested, per call.
    "summaries-share": lambda _, sent, whole: sum(one.summary_calls for one in sent) / len(sent),
    # Share of keep-all's last request that was taken away.
    "tokens-lost-early": lambda _, sent, whole: 1 - sent[-1].tokens_sent / whole[-1].tokens_sent,
}


def _holds(sent: Sent, item: Item) -> bool:
    """Whether a request holds an item unchanged, or its text within another item."""
    return sent.view.find(item.place) == item or any(item.text in other.text for other in sent.view)
