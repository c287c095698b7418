"""What lines of a Claude Code session beside its conversation tell of requests and of their cost."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ctxsim.readers.assembly import dollars
from ctxsim.readers.formats.claude_code.tree import Line, LineMessage
from ctxsim.readers.source import Source, compact_json, has, under
from ctxsim.readers.source.values import objects

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")

_AGENT = re.compile(r"[\w.-]{1,100}")
"""Ids that are looked for as files. A log is untrusted, and may hold any."""


_BOUNDARY = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"
"""Stands between a system prompt's texts, and isn't sent: https://code.claude.com/docs/en/cli-reference, 2.1.275."""


class Told:
    """Collects what lines beside the conversation tell: the cost in a stream's result, the heads of requests, and the
    responses of sub-agents in lines of progress, which are the only record of their cost if their files are gone.

    `responses` leaves out agents with a file of their own.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.found: dict[str, tuple[str, dict[str, Any], Any]] = {}
        """By its id, a response's agent, message and time."""
        self._shapes: dict[str, Any] = {}
        # By a request's id, its system prompt and tools as they were sent.
        self._heads: dict[str, Any] = {}
        self._costs: defaultdict[str, list[float]] = defaultdict(lambda: [0.0])
        self.cost_usd: float | None = None

    def hear(self, line: Any) -> None:
        """Add a line. The last one of a response, or of each session, holds its whole cost."""
        match under(line, "type"):
            case "result":
                costs = self._costs[str(under(line, "session_id"))]
                since = under(line, "model_usage_since_last_result")
                used = since.values() if isinstance(since, dict) else [None]
                spent = [dollars(under(one, "costUSD")) for one in used]
                if None not in spent:
                    costs += filter(None, spent)
                else:
                    usd = dollars(under(line, "total_cost_usd")) or costs[-1]
                    # A session that is resumed goes on counting; in older versions it counts anew.
                    costs[-1:] = [usd] if usd >= costs[-1] else [costs[-1], usd]
                self.cost_usd = sum(map(sum, self._costs.values())) or None
            case "api-request-shape":
                self._shapes[str(under(line, "shapeHash"))] = under(line, "shape")
            case "api-request":
                self._heads[str(under(line, "id"))] = self._shapes.get(str(under(line, "shapeHash")))
            case "progress":
                data = under(line, "data")
                message = under(data, "message", "message")
                if has(message, id=str, usage=dict):
                    # The time is that of the response's first line, as in the sub-agent's own file.
                    when = under(data, "message", "timestamp") or under(line, "timestamp")
                    first = self.found.get(message["id"], ("", None, when))[2]
                    self.found[message["id"]] = str(under(data, "agentId") or ""), message, first

    def head(self, line: Line | None, lines: Sequence[Line]) -> tuple[list[str], list[str]]:
        """Return the system prompt's texts and the tools of the request that a line answers, or of the session that
        `lines` are; none if none is logged.

        A session sends its first snapshot as long as its model stays: github.com/wolframs/claude-code-dispositions
        (2.1.294), its update pipeline. Tools that wait for a search aren't in the prompt:
        https://platform.claude.com/docs/en/agents-and-tools/tool-use, Tool search tool.
        """
        shape = self._heads.get(str(line.request_ref)) if line else None
        tools, texts = objects(shape, "tools"), [under(block, "text") for block in objects(shape, "system")]
        if shape is None:
            told = [line.snapshot for line in lines if line.snapshot]
            # What is told before the tools are known lacks them.
            first = next((one for one in told if objects(one, "tools")), next(iter(told), {}))
            tools = [under(tool, "schema") or tool for tool in objects(first, "tools")]
            said = first.get("systemPrompt")
            texts = [first.get("cliPrefix"), *(said if isinstance(said, list) else [said])]
        kept = [compact_json(tool) for tool in tools if not under(tool, "defer_loading")]
        return [text for text in texts if isinstance(text, str) and text != _BOUNDARY], kept

    def responses(self) -> Iterator[Line]:
        """Yield each response that no other file holds, as a line without content."""
        own = {agent: self.has_file(agent) for agent, _, _ in self.found.values()}
        for agent, message, when in self.found.values():
            if not own[agent]:
                # Progress is for display: usage in another form is skipped.
                with suppress(msgspec.ValidationError):
                    told = msgspec.convert({**message, "content": None}, LineMessage)
                    yield Line(type="progress", message=told, timestamp=when)

    def has_file(self, agent: str) -> bool:
        """Return whether a sub-agent has a file of its own beside the session's."""
        if not _AGENT.fullmatch(agent):
            return False
        own = self._source.place
        folders = (own.parent, own.parent / own.name.partition(".")[0] / "subagents")
        return self._source.near(folder / f"agent-{agent}{ending}" for folder in folders for ending in ENDINGS)
