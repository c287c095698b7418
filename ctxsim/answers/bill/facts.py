"""The facts of a recording that a bill needs: numbers by response, and names. They hold no text of the recording."""

import msgspec

CAUSES = ("", "pause", "model", "other")
"""Why tokens were not read from the cache: nothing missed, expired in a pause, another model, unknown."""

FITTED, SYSTEM, TOOLS = "head, not in the log", "head, system prompt", "head, tools"
SERVER = "head, MCP server "
USER, ATTACHED, CARRIED = "user", "attachments", "summaries"
ASSISTANT, THINKING, ASKED = "assistant", "thinking", "tool calls"
RESULTS = "results of "
MEDIA, JOINED, UNKNOWN = "images and files", "joined, not in the log", "unknown"
OUTPUT, BESIDE, ASKING = "output", "outside the conversation", "requests for summaries"
SEARCHES = "web searches"
"""Names of parts. RESULTS is followed by the name of a tool, SERVER by that of an MCP server."""


class Response(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One response with recorded usage. `read`, `write` and `plain` are its request's tokens by what the log says that
    the cache did: read, written, or neither. `long` of the written ones have the longer lifetime.

    `begun`: the log shows it unfinished; `output` is then what was written so far, and `written` an estimate of the
    whole answer's tokens. `parts` are groups of four: part number, tokens read, written and plain. They sum to the
    request, of which `head` tokens go with every request. `fresh` tokens joined since the previous response, `pause_s`
    seconds passed. `missed` tokens could have been read from the cache; `cause` is an index in CAUSES. `turn`: a user
    text came right before. `needs` counts its uses of older results, `crossing` its own and later uses of results that
    were there before it. `unsaid`: the log doesn't state cache reads. `compacted`: the tokens of the summary of a
    compaction right before it, or of all that follows the head where the log lacks the summary; 0 without a compaction.
    `cold`: that compaction was asked for when the cache of the response before had expired. `served` is how the request
    was served, `searches` the number of web searches.
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
    compacted: int = 0
    needs: int = 0
    crossing: int = 0
    unsaid: bool = False
    cold: bool = False
    served: str = ""
    searches: int = 0

    @property
    def input(self) -> int:
        """Tokens of the whole request."""
        return self.read + self.write + self.plain

    @property
    def alone(self) -> bool:
        """Whether it is no response, but stands for the dollars of a session whose log states no usage."""
        return bool(self.usd) and not self.input + self.output


class Large(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A large result in responses `first` to before `last` (a compaction or the end); `needs` counts its uses."""

    first: int
    last: int
    tokens: int
    part: int
    needs: int


Rate = float | tuple[tuple[int, float], ...]
"""USD per million tokens; or steps: (input tokens above which it applies, price)."""


class Rates(msgspec.Struct, frozen=True, array_like=True):
    """The rates of one model at one time: those of `simulator.provider.prices`, with the time of day resolved, and the
    USD of one web search. `unpriced` is how requests were served where these are the standard rates all the same.
    """

    read: Rate
    write: Rate
    long: Rate
    plain: Rate
    output: Rate
    search: float = 0.0
    unpriced: str = ""

    def at(self, tokens: int) -> tuple[float, ...]:
        """Return the USD per token of each class, `read` to `output`, for a request of `tokens` input tokens."""
        rates = (self.read, self.write, self.long, self.plain, self.output)
        return tuple(_step(rate, tokens) / 1e6 for rate in rates)


def _step(rate: Rate, tokens: int) -> float:
    if isinstance(rate, float | int):
        return rate
    return next((price for start, price in reversed(rate) if tokens > start), rate[0][1])


class Session(msgspec.Struct, frozen=True, array_like=True):
    """A recorded conversation: its origin, its responses in order, the responses `beside` it, and the names of parts.

    `chars_per_token` is fitted to its recorded usage, or a prior. `uses` counts calls by tool. `usd` is what the log
    states for the session if it states nothing for responses. `unrecorded` are the times of responses without usage.
    `skipped` says which lines couldn't be read. `ending` has, for each compaction after the last
    response, the tokens of its summary and whether it is `cold`.
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
    ending: tuple[tuple[int, bool], ...] = ()

    @property
    def root(self) -> str:
        """The name of its root session: a sub-agent's parent, else its own."""
        return self.parent or self.name


def server_of(tool: str) -> str:
    """Return the MCP server of a tool, by the name `mcp__SERVER__TOOL` that agents give it; '' for other tools."""
    return tool.removeprefix("mcp__").partition("__")[0] if tool.startswith("mcp__") else ""
