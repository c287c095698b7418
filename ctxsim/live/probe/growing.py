"""The endpoint of a probe: it calls tools whose results grow the conversation to where the agent should compact.

Far from a waypoint requests don't grow; a constant is added to the reported usage instead. So a threshold of 967,000
tokens is reached in a dozen small requests.
"""

import hashlib
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.estimators.estimator import Reported
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.live import responses
from ctxsim.live.confined import NETWORK
from ctxsim.live.exchange import Asked, Before, Refusal, Reply, ToolCall, Used
from ctxsim.live.probe.plan import AFTER, BEFORE, FINE, Probed, ProbePlan, Sent
from ctxsim.live.script import Wanted
from ctxsim.live.session import OVER, REMEMBERED, VENDORS, Served, ask
from ctxsim.live.tools import ending, tool_call
from ctxsim.readers.assembly.requests.bodies import Api
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Item

WORDS = " the and you was for are but not had her his one our out day get has him how man new now old see two way who"
"""Words of one token and, with their blank, four characters each, so that agents that divide by four count right."""

SUMMARY = "The user asks for results to be read, one after the other. They were read. The next one is to be read."

PROMPT = "Read one result after the other until I say that it is enough."


class Growing:
    """A session of the endpoint. `sent` are the requests so far; `over` is True when the probe is finished."""

    prompts = (PROMPT,)

    def __init__(self, plan: ProbePlan) -> None:
        self.sent: list[Sent] = []
        self.over = False
        self.step = 0
        self._plan, self._probing = plan, plan.agent.probe
        self._counter: Counter = plan.provider.counter()
        self._frames: Frames | None = None
        self._added = 0
        self._left = list(plan.waypoints)
        self._compacted = False
        self._calls_after = 0
        self._estimator = open_estimator("tokenizer") if self._probing.counts == "own" else None
        self._answered: deque[tuple[bytes, Served]] = deque(maxlen=REMEMBERED)
        self._before = Before()

    def answer(self, api: Api, body: dict[str, Any], model: str, stream: bool, headers: Mapping[str, str]) -> Served:
        """Return the answer to a request, or its refusal. Raises InputError for a body that isn't of that API."""
        digest = hashlib.sha256(msgspec.json.encode(body)).digest()
        for known, served in self._answered:
            # After a compaction an equal request is no retry: an agent that can't get smaller sends it again.
            if known == digest and not self._compacted:
                return msgspec.structs.replace(served, retry=True)
        asked = ask(api, body, model, stream, self._before)
        agent = self._plan.agent
        helper = agent.helper_of(asked.text, asked.head.system, dict(headers))
        kind = helper.kind if helper else "other" if agent.tools and not asked.tools else "main"
        tokens = self._tokens(asked)
        if kind == "main":
            self._notice(tokens)
            served = self._main(asked, tokens, self._judged(asked, tokens))
        else:
            self._compacted = self._compacted or kind == "summary"
            template = helper.answer if helper else "{summary}"
            served = self._served(asked, kind, tokens, template.replace("{summary}", SUMMARY))
        if served.reply:
            self._answered.append((digest, served))
            if api == "responses":
                self._before.add(asked, responses.whole(served.reply))
        return served

    def count(self, api: Api, body: dict[str, Any], model: str) -> int:
        """Return a request's tokens, for paths that only count. Raises InputError for an invalid body."""
        return self._tokens(ask(api, body, model, False, self._before)) + self._added

    @property
    def by_protocol(self) -> bool:
        """Whether the agent gets its prompts by its protocol. Gemini CLI cuts no results if it does."""
        return bool(self._probing.acp) and not self._plan.single

    def outcome(self, seconds: float, statuses: tuple[int | None, ...], enclosed: tuple[str, ...]) -> Probed:
        """Return the result of the probe."""
        return Probed(tuple(self.sent), seconds, NETWORK in enclosed)

    def _tokens(self, asked: Asked) -> int:
        if self._frames is None:
            provider = msgspec.structs.replace(self._plan.provider, vendor=VENDORS[asked.api])
            self._frames = Frames(provider, self._counter)
        return Request(self._frames, asked.head).become(asked.items)

    def _judged(self, asked: Asked, tokens: int) -> int:
        """Return the tokens by which the agent decides: those reported to it, or its own count."""
        if self._estimator is None:
            return tokens + self._added
        size = sum(map(self._estimator.item, asked.items))
        return self._estimator.request(asked.head, size, asked.items, Reported())

    def _notice(self, tokens: int) -> None:
        """Detect that the agent compacted, and report the real usage from then on."""
        main = [one for one in self.sent if one.kind == "main"]
        if main and tokens < main[-1].tokens * 2 / 3:
            self._compacted = True
        if self._compacted:
            self._added = 0
            self._calls_after += 1

    def _main(self, asked: Asked, tokens: int, judged: int) -> Served:
        reported = tokens + self._added
        if self._plan.refuses and reported > self._plan.refuses and not self._compacted:
            self.sent.append(Sent("main", tokens, reported, judged, True))
            wording = load_vendor(VENDORS[asked.api]).overflow.message
            said = wording.format(tokens=reported, window=self._plan.refuses)
            return Served("main", 0, asked.api, tokens, None, Refusal("overflow", said), None)
        self.step += 1
        if self._calls_after > AFTER or (self._plan.single and self.step > 1) or self._passed(judged):
            self.over = True
            return self._ended(asked, tokens)
        if self._probing.turns and asked.items[-1].kind == "tool_result":
            return self._served(asked, "main", tokens, "It is read.")
        size, added = self._next(judged)
        self._added += added
        return self._asking(asked, tokens, size)

    def _ended(self, asked: Asked, tokens: int) -> Served:
        calls = ending(asked.tools, self._plan.agent.ends, f"call_{self.step:04}_end")
        return self._served(asked, "main", tokens, OVER, calls)

    def _passed(self, judged: int) -> bool:
        """Remove the waypoints that are passed; return True if none is left."""
        while self._left and judged > self._left[0] + self._plan.past:
            self._left.pop(0)
        return not self._left and not self._plan.single

    def _next(self, judged: int) -> tuple[int, int]:
        """Return the tokens of the next result, and the tokens to add to the reported usage."""
        if self._plan.single:
            return 0, 0
        if self._compacted:
            return FINE, 0
        gap = self._left[0] - BEFORE - judged
        if gap <= 0:
            return FINE, self._plan.fine - FINE if self._probing.counts == "usage" else 0
        if self._probing.counts == "usage":
            if self._plan.late and not self.sent:
                return FINE, 0
            return FINE, max(0, gap - FINE)
        return max(FINE, min(gap, self._probing.largest)), 0

    def _asking(self, asked: Asked, tokens: int, size: int) -> Served:
        """Call the tool for the next result, after writing the result's file."""
        text = text_of(self._plan.single // 4 if self._plan.single else size, self.step)
        wanted = Wanted(Item("tool_call", self.step, 0, "{}", "read"))
        Path(self._plan.project, wanted.file).write_text(text, encoding="utf-8")
        tools = self._plan.agent.tools
        if self._plan.single and self._probing.cuts_by:
            tools = {self._probing.cuts_by: tools[self._probing.cuts_by]}
        found = tool_call(wanted, asked.tools, tools, self._plan.project)
        if found is None:
            return self._ended(asked, tokens)
        call = ToolCall(f"call_{self.step:04}", *found)
        return self._served(asked, "main", tokens, "", (call,), self._counter.text(text))

    def _served(
        self, asked: Asked, kind: str, tokens: int, text: str, calls: tuple[ToolCall, ...] = (), pending: int = 0
    ) -> Served:
        output = sum(map(self._counter.text, [text, *(call.arguments for call in calls)]))
        reported = tokens + self._added
        largest = max((len(item.text) for item in asked.items if item.kind == "tool_result"), default=0)
        judged = self._judged(asked, tokens)
        self.sent.append(Sent(kind, tokens, reported, judged, False, output, pending, largest))
        used = Used(reported, output)
        reply = Reply(f"{len(self.sent):08}", asked.model, text, calls, used)
        return Served(kind, self.step if kind == "main" else 0, asked.api, tokens, reply, None, None, output=output)


def text_of(tokens: int, number: int) -> str:
    """Return a result of about `tokens` tokens and four times as many characters, in lines; each number's differs."""
    words = WORDS.split()
    lines = [" " + " ".join([*words, *words][at : at + 19]) + "   \n" for at in range(len(words))]
    said = (lines[(number + line) % len(words)] for line in range(max(0, tokens - 4) // 20))
    return "".join([f"Result {number}.\n", *said])
