"""LangChain's three policies (trim, clear, summarize), and deepagents, which counts the head and summarizes."""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from functools import partial

from ctxsim.policies.frameworks.chat import Message, counted, first_that, in_place_of, items_of, messages, only
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import Usage
from ctxsim.view import View

CLEARED = "[cleared]"
SUMMARY = "Here is a summary of the conversation to date:\n\n"
TOO_LONG = "Previous conversation was too long to summarize."
KINDS = {"user": "human", "assistant": "ai", "tool": "tool"}

Counted = Callable[[Sequence[Message]], int]


def newest(
    found: Sequence[Message], budget: int, count: Counted, start_on: Sequence[str] = (), allow_partial: bool = False
) -> list[Message]:
    """Return the newest messages that fit a budget, from the first of a kind in `start_on` on. Pairs may be parted.

    `allow_partial` adds as many of the last lines of the first message that doesn't fit as do fit.
    """
    # Upstream counts the newest message first.
    start = first_that(lambda start: count(found[start:][::-1]) <= budget, 0, len(found))
    kept = list(found[start:])
    left = budget - count(kept[::-1])
    if allow_partial and start and (piece := _last_lines(found[start - 1], left, lambda one: count([one]))):
        kept.insert(0, piece)
    return list(itertools.dropwhile(lambda one: bool(start_on) and KINDS[one.role] not in start_on, kept))


def _last_lines(message: Message, budget: int, size: Callable[[Message], int]) -> Message | None:
    """The message cut to as many of its last lines as fit; None if not even one does.

    The text after the last line feed is a line, even if it is empty.
    """
    if not message.text:
        return None
    lines = re.split("(?<=\n)", message.text)
    first = first_that(lambda n: size(message.with_text("".join(lines[n:]))) <= budget, 0, len(lines))
    return message.with_text("".join(lines[first:])) if first < len(lines) else None


class OfLangchain(Policy, abstract=True):
    """Base class of LangChain's policies."""

    decides_by = "langchain"
    source = "langchain-ai/langchain"
    version = "langchain 1.4.7, langchain-core 1.7.2"


class LangchainTrim(OfLangchain):
    """Keep the newest messages that fit `max_tokens`; calls and results are not kept together.

    langchain-ai/langchain, langchain_core/messages/utils.py, trim_messages(strategy="last"), counted approximately.
    First, messages after the last `end_on` are dropped; last, those before the first `start_on`. Both take `human`,
    `ai`, `tool`, or several as `human/ai`. With `include_system` the system prompt counts for the budget; without it,
    upstream may drop it as any message, but here it is sent. Upstream has no default budget: 0 is the model's window.
    """

    per_request = True

    max_tokens: Count = 0
    start_on: str = "any"
    end_on: str = "any"
    include_system: bool = False
    allow_partial: bool = False

    def before_call(self, view: View) -> View:
        budget, system = self.max_tokens or self.sees.window, self.sees.head.system
        kept = messages(view)
        ends, starts = _kinds(self.end_on), _kinds(self.start_on)
        while ends and kept and KINDS[kept[-1].role] not in ends:
            kept.pop()
        if self.include_system and system:
            budget = max(0, budget - counted(self.sees, [], system))
        trimmed = newest(kept, budget, partial(counted, self.sees), starts, self.allow_partial)
        return only(view, trimmed, f"beyond the newest {budget:,} tokens")


def _kinds(text: str) -> list[str]:
    return [] if text == "any" else text.split("/")


class LangchainClear(OfLangchain):
    """Over `trigger`, clear all but the newest `keep` results; each request is edited independently.

    langchain-ai/langchain, langchain/agents/middleware/context_editing.py, ClearToolUsesEdit. Unlike in the interface
    that it is modelled on, `clear_at_least` ends the clearing once so many tokens are free, so that only the oldest
    results are ever cleared. Results of excluded tools, `exclude_tools=a/b`, count for `keep`. A result is cleared only
    if its call is in the nearest response before it.
    """

    per_request = True

    trigger: Count = SHIPPED
    keep: Count = SHIPPED
    clear_at_least: Count = 0
    clear_tool_inputs: bool = False
    exclude_tools: str = "none"
    placeholder: str = CLEARED

    def threshold(self) -> float:
        return self.trigger

    def before_call(self, view: View) -> View:
        found = messages(view)
        if counted(self.sees, found) <= self.trigger:
            return view
        excluded = set(self.exclude_tools.split("/"))
        results = [n for n, message in enumerate(found) if message.role == "tool"]
        texts: dict[int, str] = {}
        freed: dict[int, int] = {}
        for n in results[: max(0, len(results) - self.keep)]:
            result = found[n].items[0]
            asked = next((m for m in range(n - 1, -1, -1) if found[m].role == "assistant"), None)
            calls = [] if asked is None else found[asked].calls
            call = next((call for call in calls if call.place == result.answers), None)
            if asked is None or call is None or call.tool in excluded:
                continue
            texts |= {result.place: self.placeholder} | ({call.place: "{}"} if self.clear_tool_inputs else {})
            if self.clear_at_least:
                freed |= {m: self._freed(found[m], texts) for m in (n, asked)}
                if sum(freed.values()) >= self.clear_at_least:
                    break
        return view.rewrite(texts, f"over {self.trigger:,} tokens")

    def _freed(self, message: Message, texts: dict[int, str]) -> int:
        after = [item.with_text(texts.get(item.place, item.text)) for item in message.items]
        return counted(self.sees, [message]) - counted(self.sees, [Message(tuple(after))])


def summary_start(found: Sequence[Message], start: int) -> int:
    """Return a cut that parts no result from its call: on results, back to the response with one of their calls."""
    results = list(itertools.takewhile(lambda message: message.role == "tool", found[start:]))
    answered = {result.items[0].answers for result in results}
    asked = (n for n in range(start - 1, -1, -1) if any(call.place in answered for call in found[n].calls))
    return next(asked, start + len(results))


class _Summarizing(OfLangchain, abstract=True):
    """Base class of the two that summarize: both count by what the provider reported of each response."""

    def start(self) -> None:
        # Tokens that were reported of a response and its request, by the response's message.
        self._reported: dict[int, int] = {}

    def after_call(self, view: View, usage: Usage) -> View:
        if view:
            self._reported[view[-1].message] = usage.total_tokens
        return view

    def _last_reported(self, found: Sequence[Message]) -> int:
        return next((self._of(message) for message in reversed(found) if message.role == "assistant"), 0)

    def _of(self, message: Message) -> int:
        return self._reported.get(message.items[0].message, 0) if message.role == "assistant" else 0

    def _size(self, found: Sequence[Message], system: str = "", tools: int = 0) -> int:
        """Tokens by the counter, scaled by what was reported of the last response that has it, up to a quarter more."""
        last = next((n for n in range(len(found) - 1, -1, -1) if self._of(found[n])), None)
        if last is None or (len(found) == 1 and not system):
            return tools + counted(self.sees, found, system)
        before = tools + counted(self.sees, found[: last + 1], system)
        size = before + counted(self.sees, found[last + 1 :])
        factor = self._of(found[last]) / before if before else 1.0
        return math.ceil(size * min(1.25, max(1.0, factor)))

    def _start(self, found: Sequence[Message], keep: int, tokens: int) -> int:
        """The first of the newest `keep` messages; if that is 0, of those that fit `tokens`, which aren't scaled, at
        least the last one.
        """
        if keep:
            return summary_start(found, max(0, len(found) - keep))
        if self._size(found) <= tokens:
            return 0
        start = first_that(lambda n: counted(self.sees, found[n:]) <= tokens, 0, len(found))
        return summary_start(found, max(0, min(start, len(found) - 1)))

    def _summarized(self, view: View, found: list[Message], start: int, most: int, trim: int = 0) -> View:
        """A summary in the place of the messages before `start`, written by their newest `trim` tokens (0: by all)."""
        if start <= 0:
            return view
        seen = newest(found[:start], trim, self._size, ["human"], allow_partial=True) if trim else found[:start]
        text = self.sees.summarize(items_of(seen), most) if seen else TOO_LONG
        if text is None:
            return view
        return in_place_of(view, found[:start], SUMMARY + text, f"{self.threshold():,.0f} tokens or more")


class LangchainSummarize(_Summarizing):
    """From `trigger` tokens on, put a summary in the place of all but the newest `keep` messages. Edits last.

    langchain-ai/langchain, langchain/agents/middleware/summarization.py, SummarizationMiddleware. The head doesn't
    count; the last reported usage can reach the trigger too. A cut on a result moves back to its call. `keep_tokens`
    keeps so many tokens instead of messages. The model gets the newest `trim_tokens_to_summarize` tokens (0: all) of
    the old messages, from a user's text on; if there is none, no model is used, and a fixed sentence stands for the
    history. Upstream has no default trigger: 0 is the model's window. `trigger_messages`: from so many messages on.
    Counts are scaled by the last reported usage. For Claude, upstream counts as with `estimator=langchain:ratio=3.3`.
    """

    trigger: Count = 0
    trigger_messages: Count = 0
    keep: Positive = SHIPPED
    keep_tokens: Count = 0
    trim_tokens_to_summarize: Count = SHIPPED
    max_tokens: Positive = 1_000

    def threshold(self) -> float:
        return self.trigger or self.sees.window

    def before_call(self, view: View) -> View:
        found = messages(view)
        many = 0 < self.trigger_messages <= len(found)
        # Without `trigger`, only the number of messages counts, if there is one.
        counts_tokens = self.trigger or not self.trigger_messages
        if not (many or (counts_tokens and max(self._size(found), self._last_reported(found)) >= self.threshold())):
            return view
        start = self._start(found, 0 if self.keep_tokens else self.keep, self.keep_tokens)
        return self._summarized(view, found, start, self.max_tokens, self.trim_tokens_to_summarize)


class Deepagents(_Summarizing):
    """At `trigger` of the window, head included, put a summary in the place of all but the newest `keep` of it.

    langchain-ai/deepagents, deepagents/middleware/summarization.py: LangChain's summary with other numbers, of all old
    messages. Its offloading of large results to files isn't modelled. After a refusal it summarizes once more.
    `keep_messages` keeps so many messages instead. The last reported usage can reach the trigger too. It also
    summarizes over 0.95 of the window less `output_tokens`, which are those that the model object states: 64,000 for
    Claude 4.5, 128,000 for newer ones, none for OpenAI's. For Claude, see `estimator` of `langchain-summarize`.
    """

    source = "langchain-ai/deepagents"
    version = "deepagents 0.7.32"
    retries = 1

    trigger: Share = SHIPPED
    keep: Share = SHIPPED
    keep_messages: Count = 0
    output_tokens: Count = 0
    max_tokens: Positive = 1_000

    def threshold(self) -> float:
        return min(int(self.trigger * self.sees.window), int(0.95 * self.sees.window) - self.output_tokens + 1)

    def before_call(self, view: View) -> View:
        found = messages(view)
        head = self.sees.head
        size = self._size(found, head.system, self.sees.estimator.text("".join(head.tools)))
        by_usage = self._last_reported(found) >= int(self.trigger * self.sees.window)
        return self._shortened(view) if by_usage or size >= self.threshold() else view

    def on_overflow(self, view: View, error: Overflow) -> View:
        return self._shortened(view)

    def _shortened(self, view: View) -> View:
        found = messages(view)
        start = self._start(found, self.keep_messages, int(self.keep * self.sees.window))
        return self._summarized(view, found, start, self.max_tokens)
