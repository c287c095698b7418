"""One client's conversation with the endpoint: which step is next, what it costs, and which requests are refused."""

import hashlib
import re
from collections import deque
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import InputError
from ctxsim.live import chat, gemini, messages, responses
from ctxsim.live.agent import UNNAMED, Agent
from ctxsim.live.exchange import Asked, Before, Refusal, Reply, ToolCall, Used, items_of
from ctxsim.live.faults import Faults
from ctxsim.live.matching import History, Matched
from ctxsim.live.plan import Outcome
from ctxsim.live.script import Script
from ctxsim.live.tools import ending, tool_call, tools_of
from ctxsim.readers.assembly import Part
from ctxsim.readers.assembly.requests.bodies import Api, caught, ids
from ctxsim.readers.assembly.requests.logged import Said
from ctxsim.readers.source import under
from ctxsim.readers.source.values import objects
from ctxsim.simulator.ledger import Kernel, Leg
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import HEAD, Request
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.summaries import extractive
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Call, Head

SHAPES: Mapping[Api, ModuleType] = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}

VENDORS: Mapping[Api, str] = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "google"}
"""The vendors whose rules hold if no other is named."""

SUMMARY_TOKENS = 800
"""The size of a summary in tokens, about what agents ask for."""

REMEMBERED = 32
"""The number of answers that are kept for clients that send a request again."""

FOREVER_S = 60.0
"""The seconds that a client is told to wait if waiting won't help."""

ASKS = re.compile(r"(?i)\b(summari[sz]e|summary|compact|compaction|condense|hand-?off)\b")
"""Words by which a text that asks for a summary is recognised."""

TOOL_CHOICES = ("tool_choice",), ("tool_choice", "type"), ("toolConfig", "functionCallingConfig", "mode")
"""The places in requests of the choice of tools. With the choice `none`, the model calls none."""

OVER = "The conversation is over."
"""The answer to requests past the script's end."""

MOST_PAST = 50
"""The most requests past the script's end that are answered. Later ones are refused, since an agent may not stop."""


class Served(msgspec.Struct, frozen=True):
    """The answer to one request, or its refusal. `step` counts from 1; 0 for a request that isn't the conversation."""

    kind: str
    step: int
    api: Api
    tokens: int
    reply: Reply | None
    refusal: Refusal | None
    matched: Matched | None
    cost_usd: float | None = None
    output: int = 0
    retry: bool = False
    unused: str = ""
    """The recorded tool that no tool of the request could replace; '' if there is none."""


class Session:
    """State: the step, the provider, the history, and the last answers.

    `folder` holds the results as files; None if there are none. Sessions may share a `counter`, and so its memo.
    """

    over = by_protocol = False
    """A driven agent ends by itself, and gets each prompt by its command."""

    def __init__(
        self,
        script: Script,
        provider: Provider,
        faults: Faults = Faults(),  # noqa: B008 - frozen
        agent: Agent = UNNAMED,
        folder: str | None = None,
        counter: Counter | None = None,
    ) -> None:
        self.step = 0
        self.prompts = script.prompts
        self._script, self._provider, self._faults = script, faults.over(provider), faults
        self._agent, self._folder = agent, folder
        self._counter = counter or provider.counter()
        self._llm: Kernel | None = None
        self._answered: deque[tuple[bytes, Served]] = deque(maxlen=REMEMBERED)
        self._before = Before()
        self._admitted: set[bytes] = set()
        self._limited: dict[int, int] = {}
        self._broken: set[int] = set()
        self._served = 0
        self._history = History(script)
        self._held: frozenset[int] = frozenset()

    def answer(self, api: Api, body: dict[str, Any], model: str, stream: bool, headers: Mapping[str, str]) -> Served:
        """Return the answer to a request, or its refusal. Raises InputError for a body that isn't of that API."""
        digest = hashlib.sha256(msgspec.json.encode(body)).digest()
        for known, served in self._answered:
            # After a summary the next request can equal that of an earlier step, and isn't a retry of it.
            if known == digest and served.step in (0, self.step):
                return msgspec.structs.replace(served, retry=True)
        asked = ask(api, body, model, stream, self._before)
        llm = self._llm_for(asked)
        if api == "messages":
            llm.request.marks = messages.marks_of(body, HEAD - 1 + len(asked.items))
            llm.turn_to(None)
        helper = self._agent.helper_of(asked.text, asked.head.system, dict(headers))
        # Agents that have tools offer them in every request of the conversation.
        kind = helper.kind if helper else "other" if self._agent.tools and not asked.tools else "main"
        if kind != "summary" and not self._agent.helpers and self._asks_for_summary(asked):
            kind = "summary"
        step = self.step + 1 if kind == "main" else 0
        self._served += 1
        matched = self._history.match(asked.items, step) if kind == "main" else None
        if matched is not None:
            self._held = _places(matched)
        tokens, refusal = self._judge(llm, asked, digest, step)
        served = Served(kind, step, api, tokens, None, refusal, matched)
        if refusal is not None:
            return served
        if kind == "main":
            reply, unused = self._play(asked)
        else:
            reply, unused = self._reply(asked, self._help(asked, helper.answer if helper else "{summary}")), ""
        served = self._billed(llm, served, reply, unused)
        if served.reply and not served.reply.broken:
            self._answered.append((digest, served))
            if api == "responses":
                self._before.add(asked, responses.whole(served.reply))
            if kind == "main":
                self.step += 1
                made = [Part("tool_call", one.arguments, one.name, one.id) for one in served.reply.calls]
                self._history.answered(self.step, made)
        return served

    def count(self, api: Api, body: dict[str, Any], model: str) -> int:
        """Return a request's tokens, for paths that only count. Raises InputError for an invalid body."""
        asked = ask(api, body, model, False, self._before)
        return Request(Frames(self._provider, self._counter), asked.head).become(asked.items)

    def outcome(self, seconds: float, statuses: tuple[int | None, ...], enclosed: tuple[str, ...]) -> Outcome:
        """Return how the run of an agent went that was answered by this session alone."""
        return Outcome(seconds, statuses, enclosed, self.step)

    def _asks_for_summary(self, asked: Asked) -> bool:
        """Return whether a request of an unknown agent asks for a summary: it still holds all places of the last one,
        which a compacted request doesn't, and ends with a text of the agent's own that mentions a summary.
        """
        if not self._held or asked.items[-1].kind != "user" or not ASKS.search(asked.text):
            return False
        matched = self._history.match(asked.items, self.step + 1)
        return matched.matches[-1].place is None and self._held <= _places(matched)

    # judging

    def _llm_for(self, asked: Asked) -> Kernel:
        if self._llm is None:
            if self._provider.vendor == "none":
                self._provider = msgspec.structs.replace(self._provider, vendor=VENDORS[asked.api])
            self._llm = Kernel(self._provider, self._counter, asked.head, Frames(self._provider, self._counter))
        return self._llm

    def _judge(self, llm: Kernel, asked: Asked, digest: bytes, step: int) -> tuple[int, Refusal | None]:
        """Return a request's tokens, and its refusal; None if it is accepted."""
        if step > len(self._script.steps) + MOST_PAST:
            return 0, Refusal("invalid", f"{OVER} So it was said {MOST_PAST} times.")
        llm.begin(_leg(asked.head, self.step * self._provider.pace_s, 0))
        tokens = llm.request.become(asked.items)
        limited = self._faults.limited.get(step)
        if limited and self._limited.setdefault(step, 0) < limited.times:
            self._limited[step] += 1
            return tokens, _rate_limit(limited.retry)
        if digest in self._admitted:
            self._admitted.discard(digest)
            return tokens, None
        verdict = llm.judge()
        if verdict.status == "overflow":
            wording = load_vendor(self._provider.vendor).overflow.message
            size, window = tokens + self._provider.reserved_output, self._provider.window
            return tokens, Refusal("overflow", wording.format(tokens=size, window=window))
        if verdict.status == "rate_limited":
            return tokens, _rate_limit(FOREVER_S)
        if verdict.status != "ok" and not self._faults.unpaired:
            return tokens, Refusal("invalid", f"Invalid request: {verdict.reason}")
        if verdict.wait_s:
            self._admitted.add(digest)
            return tokens, _rate_limit(verdict.wait_s)
        return tokens, None

    def _billed(self, llm: Kernel, served: Served, reply: Reply, unused: str) -> Served:
        """Return `served` with its reply, whose usage follows the cache and the faults, and its cost in dollars."""
        texts = [reply.text, *(text for call in reply.calls for text in (call.name, call.arguments))]
        output = sum(map(self._counter.text, texts))
        bill = llm.bill(_leg(llm.request.head, llm.now_s, output))
        split = bill.split
        if self._faults.usage is not None:
            counts, factor = (served.tokens, output, split.read, split.write), self._provider.usage_factor
            reply = msgspec.structs.replace(reply, used=Used(*(round(factor * one) for one in counts)))
        usd = bill.cost.total if bill.cost else None
        return msgspec.structs.replace(served, reply=reply, unused=unused, cost_usd=usd, output=output)

    # answering

    def _play(self, asked: Asked) -> tuple[Reply, str]:
        """Return the next step's reply, and the recorded tool that no tool of the request could replace."""
        if self.step >= len(self._script.steps):
            return self._reply(asked, OVER, self._ending(asked, f"over_{self._served}")), ""
        step = self._script.steps[self.step]
        found = [tool_call(wanted, asked.tools, self._agent.tools, self._folder) for wanted in step.wanted]
        # If one call can't be made, none is, because the other results alone would make no sense.
        unused = next((wanted.call.tool for wanted, call in zip(step.wanted, found, strict=True) if call is None), "")
        calls = [ToolCall(f"call_{self.step + 1:04}_{n}", *call) for n, call in enumerate(found) if call and not unused]
        calls += [] if step.wanted else self._ending(asked, "end")
        reply = self._reply(asked, step.text or ("" if calls else OVER), tuple(calls))
        number = self.step + 1
        if asked.stream and number in self._faults.broken and number not in self._broken:
            self._broken.add(number)
            reply = msgspec.structs.replace(reply, broken=True)
        return reply, unused

    def _ending(self, asked: Asked, name: str) -> tuple[ToolCall, ...]:
        return ending(asked.tools, self._agent.ends, f"call_{self.step + 1:04}_{name}")

    def _reply(self, asked: Asked, text: str, calls: tuple[ToolCall, ...] = ()) -> Reply:
        return Reply(f"{self._served:08}", asked.model, text, calls)

    def _help(self, asked: Asked, template: str) -> str:
        if "{summary}" not in template:
            return template
        # The message that asks for the summary isn't part of it, unless one message holds the whole conversation. That
        # counts as the assistant's: a summary keeps only the first sentence of a user text, but more lines of others.
        items = asked.items[:-1]
        if len(asked.items) <= 2:
            items = [msgspec.structs.replace(item, kind="assistant") for item in asked.items]
        return template.replace("{summary}", extractive(items, SUMMARY_TOKENS, self._counter.text))


def ask(api: Api, body: dict[str, Any], model: str, stream: bool, known: Mapping[str, tuple[Said, ...]] = {}) -> Asked:
    """Return a parsed request body, after the messages up to the known response that it goes on from.

    Raises InputError for one that isn't of that API, has no message, or goes on from an unknown response.
    """
    held = caught(api, body, "your")
    if before := ids(body, {})[1]:
        if before not in known:
            raise InputError("request", f"Previous response with id '{before}' not found.")
        held.said[:0] = known[before]
    items = items_of(held)
    if not items:
        raise InputError("request", "it has no message")
    last = held.said[-1]
    text = last.answer.text if last.answer else "\n".join(part.text for part in last.parts)
    may_call = not any(under(body, *place) in ("none", "NONE") for place in TOOL_CHOICES)
    entries = objects(body, "tools") if may_call else []
    tools = tuple(tool for entry in entries for tool in tools_of(api, entry))
    head = Head("\n\n".join(held.system), tuple(held.tools))
    return Asked(api, model, stream, head, items, tools, text, tuple(held.said))


def _places(matched: Matched) -> frozenset[int]:
    return frozenset(one.place for one in matched.matches if one.place is not None)


def _rate_limit(wait_s: float) -> Refusal:
    return Refusal("rate_limited", f"Rate limit reached. Please try again in {wait_s:g}s.", wait_s)


def _leg(head: Head, scheduled_s: float, output: int) -> Leg:
    """Return a leg without a recorded call; its items are in the request already."""
    return Leg(0, Call(0, 0), head, scheduled_s, (), False, (), (), output, 0)
