"""Where a window goes: what each request is filled with, what that costs, and what of it was there before.

Keep-all is replayed; each position of each request has its tokens, and its dollars by what the cache made of it: a
request is read up to some token, written up to another, and the rest is uncached. So parts add up to the bill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.measure import KEEP_ALL, Basis
from ctxsim.simulator.provider.prices import Cost, Split
from ctxsim.simulator.replay import Replay
from ctxsim.transcript import UNLOGGED, Item, Transcript

Array = npt.NDArray[np.float64]

LEAST_LINE = 20
"""Characters from which on a line that stood in an earlier result is repeated content, not a brace or a blank."""

FITTED, TOOLS, SYSTEM = "head, not in the log", "head, tools", "head, system prompt"
MEDIA, JOINED, OUTPUT = "images and files", "joined, not in the log", "output"
RESULTS = "results"

OF_KIND = {
    "user": "user", "assistant": "assistant", "reasoning": "reasoning", "tool_call": "tool calls",
    "tool_result": RESULTS,
}  # fmt: skip
CARRIED = "carried over a compaction"

MCP = "mcp__"


class Part(msgspec.Struct, frozen=True, order=True):
    """What fills a window; of results the tool that gave them."""

    what: str
    tool: str = ""

    @property
    def server(self) -> str:
        """The MCP server of a tool, by the name `mcp__SERVER__TOOL` that agents give it; '' for other tools."""
        return self.tool.removeprefix(MCP).partition("__")[0] if self.tool.startswith(MCP) else ""


class Amount(msgspec.Struct, frozen=True):
    """Of a part: its items, its tokens over all calls and if each had been sent once, dollars over all calls, and those
    of its tokens that an earlier result had already brought, in whole lines.
    """

    items: int = 0
    tokens: float = 0.0
    once: float = 0.0
    usd: float = 0.0
    repeated: float = 0.0

    def plus(self, other: Amount) -> Amount:
        """Return the sum."""
        return Amount(
            *(a + b for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True))
        )


class Filled(msgspec.Struct, frozen=True):
    """What fills the requests of one transcript: by part, and by part and call. Without prices dollars are unknown.

    Output isn't input: its tokens are the model's answers, which its dollars are for.
    """

    transcript: str
    parent: str
    model: str
    calls: int
    parts: dict[Part, Amount]
    growth: dict[Part, tuple[float, ...]]
    priced: bool

    def without_growth(self) -> Filled:
        """Return the same in little memory: the parts alone."""
        return msgspec.structs.replace(self, growth={})

    @property
    def tokens(self) -> float:
        """Input tokens over all calls."""
        return sum(amount.tokens for part, amount in self.parts.items() if part.what != OUTPUT)

    @property
    def usd(self) -> float | None:
        """The bill of keep-all; None without prices."""
        return sum(amount.usd for amount in self.parts.values()) if self.priced else None


def filled(basis: Basis) -> Filled:
    """Return what fills the requests that keep-all sends of a transcript."""
    transcript, sent = basis.transcript, list(Replay(basis.ledger, KEEP_ALL))
    request = Request(basis.ledger.frames, transcript.head)
    own, beside = _places(transcript)
    parts = sorted({*own, *(part for found in beside for part, _ in found), FIT, TOOL, SYS, OUT})
    number = {part: n for n, part in enumerate(parts)}
    # By position of a request: a place in the recording, after the three parts of a head.
    rows = np.array([number[part] for part in (FIT, TOOL, SYS, *own)])
    extra = [(place + 3, number[part], tokens) for place, found in enumerate(beside) for part, tokens in found]
    repeated = np.array([0.0, 0.0, 0.0, *_repeated(transcript.items)])
    tokens, once, usd, again = (np.zeros(len(parts)) for _ in range(4))
    growth = np.zeros((len(sent), len(parts)))
    seen = np.zeros(len(rows), dtype=bool)
    for n, one in enumerate(sent):
        request.with_head(one.recorded.head or transcript.head)
        request.become(one.view)
        upto, cost = request.upto(), one.cost
        edges = np.array([0, min(request.head.hidden, upto[0]), *upto], dtype=float)
        at = np.array([0, 1, 2, *(item.place + 3 for item in request.items)])
        size, dollars = np.diff(edges), np.diff(_dollars(one.bill.split, cost, edges))
        sizes, paid = np.zeros(len(rows)), np.zeros(len(rows))
        sizes[at], paid[at] = size, dollars
        new = ~seen & (sizes > 0)
        seen |= new
        for total, values in ((growth[n], sizes), (usd, paid), (once, sizes * new), (again, sizes * repeated)):
            total += np.bincount(rows, values, len(parts))
            for position, part, inside in extra:
                if sizes[position]:
                    share = values[position] * inside / sizes[position]
                    total[rows[position]] -= share
                    total[part] += share
        tokens += growth[n]
        usd[number[OUT]] += cost.output if cost else 0.0
        once[number[OUT]] += one.tokens_output
    tokens[number[OUT]] = once[number[OUT]]
    counts = np.bincount(rows[seen], minlength=len(parts))
    made = {
        part: Amount(int(counts[n]), float(tokens[n]), float(once[n]), float(usd[n]), float(again[n]))
        for part, n in number.items()
        if tokens[n]
    }
    return Filled(
        transcript.name, transcript.parent or "", transcript.model, len(sent), made,
        {part: tuple(growth[:, number[part]]) for part in made if part != OUT}, basis.provider.prices is not None,
    )  # fmt: skip


FIT, TOOL, SYS, OUT = map(Part, (FITTED, TOOLS, SYSTEM, OUTPUT))


def _dollars(split: Split, cost: Cost | None, edges: Array) -> Array:
    """Return what the first so many tokens of a request cost."""
    if cost is None:
        return np.zeros(len(edges))
    ends = np.cumsum([0, split.read, split.write, split.uncached])
    return np.asarray(np.interp(edges, ends, np.cumsum([0.0, cost.read, cost.write, cost.uncached])))


def _places(transcript: Transcript) -> tuple[list[Part], list[list[tuple[Part, int]]]]:
    """By place: what an item is, and which tokens in it are something else."""
    own, beside = [], []
    for item in transcript.items:
        carried = item.place < transcript.carried and item.kind == "user"
        tool = item.tool if item.kind == "tool_result" else ""
        own.append(Part(CARRIED if carried else OF_KIND[item.kind], tool))
        beside.append([(Part(JOINED if one.kind == UNLOGGED else MEDIA), one.tokens) for one in item.media])
    return own, beside


def _repeated(items: Sequence[Item]) -> Iterator[float]:
    """Yield by item the share of a result's characters in lines that an earlier result of the transcript has too."""
    known: set[str] = set()
    for item in items:
        lines = [line for line in item.text.split("\n") if len(line) >= LEAST_LINE] if _is_result(item) else []
        yield sum(len(line) for line in lines if line in known) / len(item.text) if lines else 0.0
        known.update(lines)


def _is_result(item: Item) -> bool:
    return item.kind == "tool_result"


def pooled(found: Iterable[Filled]) -> dict[Part, Amount]:
    """Return the sums over transcripts, most tokens first; dollars are of those with known prices."""
    sums: dict[Part, Amount] = {}
    for one in found:
        for part, amount in one.parts.items():
            sums[part] = sums.get(part, Amount()).plus(amount)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1].tokens, pair[0])))


def by_server(sums: dict[Part, Amount]) -> dict[str, Amount]:
    """Return the sums of MCP servers' results, most tokens first."""
    servers: dict[str, Amount] = {}
    for part, amount in sums.items():
        if part.server:
            servers[part.server] = servers.get(part.server, Amount()).plus(amount)
    return dict(sorted(servers.items(), key=lambda pair: (-pair[1].tokens, pair[0])))
