"""The one loop: a transcript, a policy and a provider in, call rows and an audit trail out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ctxsim.errors import ContractError
from ctxsim.policies import Overflow, Policy, Spec, Stop, Surroundings
from ctxsim.provider import MockLLM, Provider
from ctxsim.rows import CallRow, Event
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Call, Item, Transcript, Usage
from ctxsim.view import Edit, View


class Sent(msgspec.Struct, frozen=True):
    """The request of one call as it went out, for those who want to look at it."""

    call: int
    view: View
    row: CallRow
    edits: tuple[tuple[str, Edit], ...]
    said: tuple[str, ...]


class _Tally:
    """What one call's row adds up."""

    def __init__(self) -> None:
        self.edits: list[tuple[str, Edit]] = []
        self.said: list[str] = []
        self.compactions = 0
        self.summary_calls = 0
        self.tokens_summary_in = 0
        self.tokens_summary_out = 0
        self.http_429 = 0
        self.wait_s = 0.0


class _Replay:
    """The state of one replay: the view, its true token count, and the tally of the current call."""

    def __init__(self, transcript: Transcript, spec: Spec, provider: Provider, counter: Counter) -> None:
        self.transcript = transcript
        self.label = spec.label
        self.counter = counter
        self.llm = MockLLM(provider, counter, transcript.head)
        self.head_tokens = counter.head(transcript.head)
        self.sees = Surroundings(
            window=provider.window,
            head=transcript.head,
            estimator=spec.estimator,
            summarize=self._summarize,
            say=lambda text: self.tally.said.append(text),
        )
        self.parts = spec.create()
        for part in self.parts:
            part.attach(self.sees)
        self.retries = max(getattr(part, "attempts", 10) for part in self.parts)
        self.view = View(spec.estimator.item)
        self.full_tokens = self.head_tokens
        self.tokens = self.head_tokens
        self.edited = False
        self.tally = _Tally()

    # growth

    def join(self, items: Iterable[Item]) -> None:
        """New items enter the view; a result first passes the ingestion limits."""
        resend = self.llm.provider.reasoning
        for item in items:
            if item.kind == "reasoning" and resend == "never":
                continue
            if item.kind == "user" and resend == "current_turn":
                self._forget_reasoning()
            self.full_tokens += self.counter.item(item)
            entered = self._ingest(item) if item.kind == "tool_result" else item
            self.tokens += self.counter.item(entered)
            self.view = self.view.grow(entered)

    def _forget_reasoning(self) -> None:
        """The vendor, not the policy, leaves out the reasoning of finished turns."""
        old = [item for item in self.view if item.kind == "reasoning"]
        if old:
            tokens = sum(map(self.counter.item, old))
            self.view = self.view.drop([item.place for item in old], "reasoning of a finished turn").settled()
            self.tokens -= tokens
            self.full_tokens -= tokens
            self.edited = True

    def _ingest(self, item: Item) -> Item:
        for part in self.parts:
            limited = part.on_tool_result(item)
            if limited is item:
                continue
            if not isinstance(limited, Item) or limited.with_text(item.text) != item:
                raise ContractError(f"{part.label}: on_tool_result may change only the text of item {item.place}")
            if limited.text != item.text:
                self.tally.edits.append(("on_tool_result", Edit(item, limited, len(self.view), part.label)))
                item = limited
        return item

    # the policy's moments

    def _moment(self, part: Policy, moment: str, view: View, *seen: Usage | Overflow) -> View | Stop | None:
        """Let one policy act on one view, hold it to the contract, and write its edits down."""
        returned = getattr(part, moment)(view, *seen)
        if returned is view or isinstance(returned, Stop) or (returned is None and moment == "on_overflow"):
            return returned
        if not isinstance(returned, View) or returned.lineage is not view.lineage:
            raise ContractError(
                f"{part.label}: {moment} must return the view it was given or an edit of it, "
                f"not {type(returned).__name__}"
            )
        grown = sum((edit.after is not None) - (edit.before is not None) for edit in returned.edits)
        if not returned.edits or len(returned) != len(view) + grown:
            raise ContractError(f"{part.label}: {moment} returned a view from an earlier moment")
        self.tally.edits += [(moment, edit) for edit in returned.edits]
        self.tally.compactions += 1
        return returned.settled()

    def _delta(self, since: int) -> int:
        """True tokens that the edits since then added (negative: removed)."""
        return sum(self._change(edit) for _, edit in self.tally.edits[since:])

    def _change(self, edit: Edit) -> int:
        after = self.counter.item(edit.after) if edit.after else 0
        return after - (self.counter.item(edit.before) if edit.before else 0)

    def _summarize(self, items: Iterable[Item], max_tokens: int) -> str | None:
        result = self.llm.summarize(items, max_tokens)
        self.tally.summary_calls += 1
        self.tally.tokens_summary_in += result.tokens_in
        self.tally.tokens_summary_out += result.tokens_out
        self.tally.http_429 += result.verdict.http_429
        self.tally.wait_s += result.verdict.wait_s
        self.sees.now_s = self.llm.now_s
        return result.text

    # one call

    def call(self, number: int, call: Call) -> Sent:
        """Send one request and let its recorded response join the view."""
        tally = self.tally
        scheduled_s = self._scheduled_s(number, call)
        self.llm.begin(scheduled_s)
        self.sees.now_s = self.llm.now_s
        request, tokens, edited, stop = self.view, self.tokens, self.edited, None
        lasting = True
        for part in self.parts:
            before = len(tally.edits)
            acted = self._moment(part, "before_call", request)
            if isinstance(acted, Stop):
                stop = acted
                break
            assert acted is not None
            lasting = lasting and not part.ephemeral
            if acted is not request:
                request, tokens, edited = acted, tokens + self._delta(before), True
                if lasting:
                    self.view, self.tokens = request, tokens
        verdict = self.llm.judge(request, tokens, edited)
        attempts = 1
        while verdict.status == "overflow" and stop is None and attempts <= self.retries:
            smaller = self._shrink(request, tokens, verdict.reason)
            if smaller is None:
                break
            request, tokens = smaller
            attempts += 1
            if lasting:
                self.view, self.tokens = request, tokens
            verdict = self.llm.judge(request, tokens, True)
        # An ephemeral edit leaves the next request to be checked from the start again.
        self.edited = not lasting and request is not self.view
        tally.http_429 += verdict.http_429
        tally.wait_s += verdict.wait_s
        self.sees.now_s = self.llm.now_s

        response = self.transcript.items[call.start : call.end]
        output = sum(self.counter.item(item) for item in response)
        sent = request
        full, estimated = self.full_tokens, self.sees.estimator.head(self.sees.head) + request.size
        self.join(response)
        if verdict.status == "ok" and stop is None:
            usage = Usage(input_tokens=tokens, output_tokens=output)
            self.sees.usage = usage
            for part in self.parts:
                before = len(tally.edits)
                acted = self._moment(part, "after_call", self.view, usage)
                if not isinstance(acted, View):
                    raise ContractError(f"{part.label}: after_call must return a view")
                if acted is not self.view:
                    self.view, self.tokens, self.edited = acted, self.tokens + self._delta(before), True
        row = self._row(
            number, call, stop.reason if stop else verdict.reason, "stopped" if stop else verdict.status,
            attempts, full, tokens, estimated, output,
        )  # fmt: skip
        self.tally = _Tally()
        return Sent(number, sent, row, tuple(tally.edits), tuple(tally.said))

    def _shrink(self, view: View, tokens: int, message: str) -> tuple[View, int] | None:
        """After an overflow: the first policy whose view is really smaller, or None."""
        error = Overflow(message, self.llm.provider.window)
        for part in self.parts:
            before = len(self.tally.edits)
            acted = self._moment(part, "on_overflow", view, error)
            if isinstance(acted, Stop):
                raise ContractError(f"{part.label}: on_overflow returns a view or None; only before_call may stop")
            if acted is None or acted is view:
                continue
            smaller = tokens + self._delta(before)
            if smaller < tokens:
                return acted, smaller
            del self.tally.edits[before:]
            self.tally.compactions -= 1
        return None

    def _scheduled_s(self, number: int, call: Call) -> float:
        first = self.transcript.calls[0].time_s
        if call.time_s is not None and first is not None:
            return max(0.0, call.time_s - first)
        return (number - 1) * self.llm.provider.pace_s

    def _row(
        self, number: int, call: Call, reason: str, status: str,
        attempts: int, full: int, sent: int, estimated: int, output: int,
    ) -> CallRow:  # fmt: skip
        tally = self.tally
        edits = [edit for _, edit in tally.edits]
        recorded = call.usage.input_tokens if call.usage and call.comparable else None
        return CallRow(
            transcript=self.transcript.name,
            policy=self.label,
            call=number,
            status=status,
            reason=reason,
            attempts=attempts,
            tokens_full=full,
            tokens_sent=sent,
            tokens_estimated=estimated,
            tokens_recorded=recorded,
            tokens_output=output,
            http_429=tally.http_429,
            wait_s=round(tally.wait_s, 6),
            compactions=tally.compactions,
            items_edited=sum(edit.action == "edited" for edit in edits),
            items_dropped=sum(edit.action == "dropped" for edit in edits),
            tokens_removed=-sum(map(self._change, edits)),
            summary_calls=tally.summary_calls,
            tokens_summary_in=tally.tokens_summary_in,
            tokens_summary_out=tally.tokens_summary_out,
        )


def replay(transcript: Transcript, spec: Spec, provider: Provider, counter: Counter) -> Iterator[Sent]:
    """Replay a transcript through a policy, call by call.

    Teacher-forced: the recorded response joins the view whatever the provider said. Raises ContractError where the
    policy breaks its contract.
    """
    counter.learn_transcript(transcript)
    state = _Replay(transcript, spec, provider, counter)
    joined = 0
    for number, call in enumerate(transcript.calls, 1):
        state.join(transcript.items[joined : call.start])
        yield state.call(number, call)
        joined = call.end


def events(sent: Sent, counter: Counter) -> Iterator[Event]:
    """Return the audit trail of one call: every edit with its tokens before and after."""
    for moment, edit in sent.edits:
        item = edit.after or edit.before
        assert item is not None  # an edit has at least one side
        yield Event(
            transcript=sent.row.transcript,
            policy=sent.row.policy,
            call=sent.call,
            moment=moment,
            item=item.place,
            action=edit.action,
            tokens_before=counter.item(edit.before) if edit.before else 0,
            tokens_after=counter.item(edit.after) if edit.after else 0,
            reason=edit.reason,
        )
