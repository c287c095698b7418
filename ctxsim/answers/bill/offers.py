"""The changes offered for some sessions: those for which their agents have a setting or a command."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from pathlib import Path, PurePath
from statistics import median

import msgspec

from ctxsim.answers.bill import changes
from ctxsim.answers.bill.changes import Change, Effect
from ctxsim.answers.bill.dollars import PriceList
from ctxsim.answers.bill.facts import SERVER, Session
from ctxsim.answers.bill.sums import Bill
from ctxsim.counting.tokenizers import DATED, relative
from ctxsim.policies.agents.given import Given, effect
from ctxsim.policies.agents.lines import ENV, lines
from ctxsim.policies.agents.settings_file import values_for
from ctxsim.policies.agents.versions import newest_of
from ctxsim.readers.agent_folders import PLACES
from ctxsim.simulator.provider.priors import tokens_per_default

ASSUMED_SUMMARY = 5_000
"""Tokens of a summary where none was recorded."""

AGENT_OF = {"claude-code": "claude-code", "codex-rollout": "codex"}
"""Agents, by format of their logs, whose compaction and result limits are settings."""

MEMORY_FILE = {"claude-code": "CLAUDE.md", "gemini-cli": "GEMINI.md"}
"""The memory file that the agents of these formats send with every request; others send AGENTS.md."""

BY_HAND = tuple({place.format for place in PLACES})
"""Formats of interactive agents. In other formats, user messages and pauses come from a program."""

WINDOWS = (100_000, 150_000, 200_000, 250_000, 300_000, 400_000)
LIMITS = (50_000, 100_000, 150_000, 200_000)
CUTS = (2_500, 5_000, 10_000)
CHARS = (4_000, 8_000, 16_000)

MODEL = 8
"""`order` of a change of model: the last."""


class Offer(msgspec.Struct, frozen=True):
    """A change that can be made to sessions of some `formats` (() for all). Changes are applied by ascending `order`.

    `keeps`: it may lose results that later calls used. `given` is the agent's setting, None if the change is none.
    """

    name: str
    order: int
    change: Change
    how: str
    formats: tuple[str, ...] = ()
    keeps: bool = False
    told: str = ""
    given: Given | None = None

    def loses(self, effect: Effect) -> str:
        """Return the drawback of the change in words."""
        if self.keeps:
            if not effect.chances:
                return "no use was seen, so what it loses is unknown"
            # Rounded down, so that a loss never shows as 100 % kept.
            kept = 100 * max(0, effect.chances - effect.lost) // effect.chances
            return f"keeps about {kept}% of what was used"
        return self.told.format(times=effect.times, chances=effect.chances,
                                share=effect.times / effect.chances if effect.chances else 0.0)  # fmt: skip


def offers(bill: Bill, prices: PriceList, memory: Mapping[str, int], folder: Path | None) -> Iterator[list[Offer]]:
    """Yield groups of alternative changes: one change of each group can be made."""
    yield [Offer("a new session per task", 4, changes.new_session_per_task, "/clear or /new",
                 BY_HAND, told="{share:.0%} of turns used nothing older")]  # fmt: skip
    if cuts := _half_of_memory(bill, memory, folder):
        yield [Offer("memory files half as long", 2, partial(changes.head_shorter, cuts), "shorten them by half",
                     told=f"{max(cuts.values()):,} tokens of instructions")]  # fmt: skip
    for server in sorted({part.removeprefix(SERVER) for one in bill.sessions for part in one.parts
                          if part.startswith(SERVER)}):  # fmt: skip
        yield [Offer(f'MCP server "{server}" off', 1, partial(changes.without_server, server),
                     f"take {server} out of the agent's MCP settings",
                     told="used in {times:,} of {chances:,} transcripts")]  # fmt: skip
    for format, agent in AGENT_OF.items():
        own = [one for one in bill.sessions if one.format == format]
        if own:
            yield from _of_agent(format, agent, own)
    yield [Offer("pauses within the cache's life", 6, partial(changes.read_after, inf),
                 "answer sooner, or begin a new session after a pause", BY_HAND,
                 told="{times:,} of your pauses must be shorter")]  # fmt: skip
    yield from _models(bill, prices)


def _half_of_memory(bill: Bill, memory: Mapping[str, int], folder: Path | None) -> dict[str, int]:
    """Half of the memory file's tokens, by session: for the sessions in `folder`, or for all sessions if the logs name
    none in it (logs of another machine).
    """
    own = [one for one in bill.sessions if folder and PurePath(one.project).is_relative_to(folder)] or bill.sessions
    sent = {one.name: memory.get(MEMORY_FILE.get(one.format, "AGENTS.md"), 0) for one in own}
    scale = tokens_per_default(_dearest(bill))
    return {name: round(tokens / 2 * scale) for name, tokens in sent.items() if tokens}


def _of_agent(format: str, agent: str, own: list[Session]) -> Iterator[list[Offer]]:
    newest = newest_of(one.version for one in own)
    known = values_for(agent, newest)
    summary = _summary(own)
    per_token = median(one.chars_per_token for one in own)
    if agent == "codex":
        key, room = "model_auto_compact_token_limit", 0
        cuts = [("", "tool_output_token_limit", CUTS, 1.0)]
    else:
        key, room = "autoCompactWindow", known["reserve"] + known["buffer"]
        # Versions without the key have its predecessor.
        keys = ("bashOutputMaxChars", "BASH_MAX_OUTPUT_LENGTH")
        bash = next(one for one in keys if effect(Given(agent, one, CHARS[0]), newest) is not None)
        cuts = [("Bash", bash, CHARS, per_token),
                ("Read", "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", CUTS, 1.0)]  # fmt: skip
    yield [
        _setting(Given(agent, key, size), 5, partial(changes.compacted_at, size - room, summary), format)
        for size in (LIMITS if agent == "codex" else WINDOWS)
    ]
    for tool, limit, values, unit in cuts:
        yield [
            _setting(Given(agent, limit, size), 3, partial(changes.results_cut, round(size / unit), tool), format)
            for size in values
        ]
    if agent == "claude-code":
        yield [
            Offer("one-hour cache", 7, changes.hour_long_cache, _written(Given(agent, "ENABLE_PROMPT_CACHING_1H", 1)),
                  (format,), told="none; {times:,} pauses keep the cache"),
            Offer("five-minute cache", 7, changes.five_minute_cache,
                  _written(Given(agent, "FORCE_PROMPT_CACHING_5M", 1)), (format,),
                  told="{times:,} pauses lose the cache"),
        ]  # fmt: skip


def _setting(given: Given, order: int, change: Change, format: str) -> Offer:
    """The offer of a setting, named as `advise` names it."""
    return Offer(f"{given.key} = {given.value}", order, change, _written(given), (format,), True, given=given)


def _written(given: Given) -> str:
    """What to write, and in which file."""
    ((file, wanted),) = lines([given]).items()
    return " ".join(map(str.strip, wanted)) + (f" in {file}" if file != ENV else "")


def _summary(own: list[Session]) -> int:
    """Median tokens that recorded compactions left, without the head; ASSUMED_SUMMARY if there are none."""
    left = [one.input - one.head for session in own for one in session.responses if one.compacted]
    return round(median(left)) if left else ASSUMED_SUMMARY


def _models(bill: Bill, prices: PriceList) -> Iterator[list[Offer]]:
    """Offers to send the requests, or the sub-agents' requests, of the model that cost most to each cheaper model of
    its maker in these logs, unless the window of that model is known to be too small.
    """
    kinds = ((line.response.model, line.response.time_s) for line in bill.lines)
    price = {model: rates.at(1)[4] for model, time_s in kinds if (rates := prices.of(model, time_s))}
    dearest = _dearest(bill)
    others = [model for model in price if price[model] < price.get(dearest, 0.0) and _maker(model) == _maker(dearest)]
    if not others:
        return
    # Imported only here, as it takes long.
    from ctxsim.simulator.provider.models import find_model

    for children in (False, True):
        made = []
        sent = (line for line in bill.lines if line.session.parent or not children)
        most = max((line.response.input for line in sent if line.response.model == dearest), default=0)
        for other in others:
            scale = relative(other, dearest)
            found = find_model(other)
            if found and found.window and most * scale > found.window:
                continue
            what = f"{DATED.sub('', other)} for {'sub-agents' if children else 'most'}"
            how = f"model: {other} in the sub-agent's settings" if children else f"/model {other}"
            change = partial(changes.other_model, dearest, other, scale, children)
            made.append(Offer(what, MODEL, change, how, told="another model's answers"))
        if made:
            yield made


def _dearest(bill: Bill) -> str:
    usd: defaultdict[str, float] = defaultdict(float)
    for line in bill.lines:
        usd[line.response.model] += line.paid.usd
    return max(usd, key=lambda model: usd[model], default="")


def _maker(model: str) -> str:
    return model.rpartition("/")[-1].partition("-")[0]
