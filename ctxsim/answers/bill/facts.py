"""What a bill needs of a recording: numbers alone, by response. No text of the recording is in it."""

import msgspec

CAUSES = ("", "pause", "model", "other")
"""Why tokens that the cache could have held were not read: nothing missed, it had expired, another model, unknown."""

FITTED, SYSTEM, TOOLS = "head, not in the log", "head, system prompt", "head, tools"
SERVER = "head, MCP server "
USER, ATTACHED, CARRIED = "user", "attachments", "summaries"
ASSISTANT, THINKING, ASKED = "assistant", "thinking", "tool calls"
RESULTS = "results of "
MEDIA, JOINED, UNKNOWN = "images and files", "joined, not in the log", "unknown"
OUTPUT, BESIDE = "output", "outside the conversation"
"""Parts. Results have their tool's name behind them, a head's tools that of an MCP server."""


class Response(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One response with recorded usage. `read`, `write` and `plain` are the tokens of its request by what the log says
    the cache made of them; `long` are those of `write` for the longer lifetime.

    `begun`: the log shows it unfinished, and `output` is what was written by then; `written` is then about how many
    tokens its whole answer has. `parts` are groups of four: part, and its tokens read, written and plain; they sum to
    the request, `head` is how much of it goes with every request. `fresh` joined since the response before, `pause_s`
    passed since it. `missed` could have been read, had the cache held; `cause` is of CAUSES. `turn`: a user's text came
    right before. `needs` is how often it used older results, and `crossing` how often it and later ones used results
    that were there before it. `unsaid`: the log doesn't say what was read.
    """

    time_s: float | None
    model: str
    read: int
    write: int
    long: int
    plain: int
    output: int
    begun: bool
    usd: float | None
    written: int = 0
    parts: tuple[int, ...] = ()
    head: int = 0
    fresh: int = 0
    pause_s: float | None = None
    missed: int = 0
    cause: int = 0
    turn: bool = False
    compacted: bool = False
    needs: int = 0
    crossing: int = 0
    unsaid: bool = False

    @property
    def input(self) -> int:
        """Tokens of the whole request."""
        return self.read + self.write + self.plain

    @property
    def alone(self) -> bool:
        """Whether it is no response, but the dollars that a log without usage states of its session."""
        return bool(self.usd) and not self.input + self.output


class Large(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A large result: from which response on, before which (a compaction), its tokens, its part, and uses of it."""

    first: int
    last: int
    tokens: int
    part: int
    needs: int


Rate = float | tuple[tuple[int, float], ...]
"""USD per million tokens; or steps: from so many input tokens on, a price."""


class Rates(msgspec.Struct, frozen=True, array_like=True):
    """The rates of one model at one time, those of `simulator.provider.prices` with its hours told apart."""

    read: Rate
    write: Rate
    long: Rate
    plain: Rate
    output: Rate

    def at(self, tokens: int) -> tuple[float, float, float, float, float]:
        """USD per token of each class, for a request of so many tokens."""
        read, write, long, plain, output = (
            _step(rate, tokens) / 1e6 for rate in (self.read, self.write, self.long, self.plain, self.output)
        )
        return read, write, long, plain, output


def _step(rate: Rate, tokens: int) -> float:
    if isinstance(rate, float | int):
        return rate
    return next((price for start, price in reversed(rate) if tokens > start), rate[0][1])


class Session(msgspec.Struct, frozen=True, array_like=True):
    """A recorded conversation: whose, its responses in order, those outside it, and the names of its parts.

    `chars_per_token` is fitted to its recorded usage, or a prior. `uses` has by tool how often it was called. `usd` is
    what the log states of the session where it states nothing of its responses. `unrecorded` are the times of responses
    without usage. `skipped` says which lines couldn't be read.
    """

    name: str
    parent: str
    format: str
    project: str
    version: str
    responses: tuple[Response, ...]
    beside: tuple[Response, ...]
    parts: tuple[str, ...]
    large: tuple[Large, ...] = ()
    uses: dict[str, int] = {}
    chars_per_token: float = 4.0
    usd: float | None = None
    unrecorded: tuple[float | None, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The session that it belongs to: a sub-agent's is its parent's."""
        return self.parent or self.name


def server_of(tool: str) -> str:
    """Return the MCP server of a tool, by the name `mcp__SERVER__TOOL` that agents give it; '' for other tools."""
    return tool.removeprefix("mcp__").partition("__")[0] if tool.startswith("mcp__") else ""
