"""Does a policy compact where its agent did? The policy gets the usage that was reported to the agent, call by call.

At each place where the agent could have compacted, the policy decides on the conversation as the agent had it by then.
Whatever it decides, the view follows the recording, so that one wrong decision doesn't make the next ones wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from ctxsim.counting.tokenizers import own_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Overflow, Spec, Surroundings
from ctxsim.policies.recorded import compacted
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.priors import tokens_factor
from ctxsim.simulator.provider.vendor import vendor_of
from ctxsim.simulator.replay.moments import Moments
from ctxsim.transcript import Call, Compaction, Item, Transcript, Usage
from ctxsim.view import View

SUMMARY = "What was done so far, and what is left to do."
"""The text of every summary here: only decisions are compared, not summaries."""


class Decision(NamedTuple):
    """One place where the agent could have compacted: before a call's request, after its refusal, or at the end."""

    call: int
    moment: Literal["before", "refused", "end"]
    recorded: bool
    """Whether the agent compacted."""
    made: bool
    """Whether the policy would have."""
    started_by: str
    """What started the recorded compaction; '' if there is none, or the log doesn't say."""
    held: frozenset[int]
    """The places of tool results in the agent's next request."""
    would_hold: frozenset[int]
    """The places of tool results in the request that the policy would have sent."""

    @property
    def equal(self) -> bool:
        """Whether the agent and the policy did the same."""
        return self.recorded == self.made


def decisions(
    transcript: Transcript, spec: Spec, window: int, refused: Collection[int] = (), at_end: bool = False
) -> Iterator[Decision]:
    """Yield what the policy and the recorded agent decided, in order.

    `window` is the window that the agent assumed. `refused` are the calls, from 1, whose first request the provider
    refused for its size; one past the last if none followed. `at_end`: the agent also decides after its last response.
    """
    driven = _Driven(transcript, spec, window)
    for number, call in enumerate(transcript.calls, 1):
        driven.join(transcript.items[driven.joined : call.start], call)
        yield from driven.decide(number, "before", number in refused)
        driven.answer(call)
    last = len(transcript.calls) + 1
    driven.join(transcript.items[driven.joined :], None)
    if at_end or last in refused:
        yield from driven.decide(last, "end", last in refused)


class _Driven:
    """A chain of policies that is run along with a recording."""

    def __init__(self, transcript: Transcript, spec: Spec, window: int) -> None:
        self._sees = Surroundings(
            window=window, head=transcript.head, estimator=spec.estimator, summarize=lambda items, tokens: SUMMARY
        )
        shipped = spec.as_shipped(transcript.format, transcript.version, transcript.model)
        self._moments = Moments(shipped, self._sees)
        self._compactions = {one.call: one for one in transcript.compactions}
        self._transcript = transcript
        counter = Counter(own_tokenizer(transcript.model), tokens_factor(transcript.model))
        self._frames = Frames(Provider(model=transcript.model, framing=vendor_of(transcript.model)), counter)
        self._early: View | None = None  # what the policy made of the view right after a response
        self.joined = 0

    def join(self, items: Iterable[Item], call: Call | None) -> None:
        """Add new items to the agent's view, and to the view that the policy has compacted already, if there is one."""
        items = list(items)
        self.joined += len(items)
        self._moments.join(items)
        if self._early is not None:
            self._early = self._early.grow(items)
        if call is not None and call.time_s is not None:
            self._sees.now_s = call.time_s - (self._transcript.calls[0].time_s or 0.0)
            self._sees.head = call.head or self._transcript.head

    def decide(self, number: int, moment: Literal["before", "end"], refused: bool) -> Iterator[Decision]:
        """Yield the decision before a request and that after its refusal, then set the view to the agent's."""
        moments = self._moments
        before, early = moments.view, self._early
        moments.settle()
        request, _ = moments.before_call()
        made = early if early is not None else request
        fired = early is not None or _left(moments)
        compaction = self._compactions.get(number)
        asked = compaction if compaction is not None and compaction.started_by != "overflow" else None
        yield _decision(number, moment, asked, fired, before, made)
        if refused:
            moments.view = before
            answered = next(iter(moments.on_overflow(before, Overflow("too large", self._sees.window))), None)
            after = compaction if asked is None else None
            yield _decision(number, "refused", after, answered is not None, before, answered or before)
        moments.view = before if compaction is None else compacted(before, compaction).settled()
        moments.settle()
        self._early = None

    def answer(self, call: Call) -> None:
        """Add the response, and report to the policy the usage that was reported to the agent."""
        response = self._transcript.items[call.start : call.end]
        self._moments.join(response)
        self.joined += len(response)
        if call.usage is None:
            return
        output = call.usage.output_tokens
        # The provider reported the true number to the agent. If its log has none to trust, use our count.
        counted = self._frames.written(response) if output is None else output
        view = self._moments.view
        self._moments.settle()
        self._moments.after_call(Usage(call.usage.input_tokens, counted, call.usage.cache_read_tokens), response)
        self._early = self._moments.view if _left(self._moments) else None
        self._moments.view = view


def _left(moments: Moments) -> bool:
    """Return whether the policy has just dropped items from the view."""
    return any(made.edit.action == "dropped" for made in moments.settle().edits)


def _decision(
    number: int,
    moment: Literal["before", "refused", "end"],
    compaction: Compaction | None,
    fired: bool,
    before: View,
    made: View,
) -> Decision:
    held = before if compaction is None else compacted(before, compaction)
    started_by = compaction.started_by if compaction is not None else ""
    return Decision(number, moment, compaction is not None, fired, started_by, _results(held), _results(made))


def _results(view: View) -> frozenset[int]:
    return frozenset(item.place for item in view.results)
