"""Which policies today's Claude models refuse, and how much thinking is lost if they drop it instead.

    python -m evidence.thinking [--write]

One conversation of 80 calls in three turns, in which each response thinks and reads a file of about 3,000 tokens, is
sent to Opus 5.5 and Fable 5.1 with a window of 200,000 tokens. With --write the list goes into evidence/thinking.md.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

import click
import msgspec

from ctxsim.policies import open_policy, registered_policies
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Head, Item, Transcript

PAGE = Path(__file__).with_suffix(".md")
MODELS = ("claude-opus-5-5", "claude-fable-5-1")
SET = {
    "fifo": "fifo:budget=60000", "max-messages": "max-messages:n=40", "max-result-chars": "max-result-chars:chars=8000",
}  # fmt: skip
"""Policies that have no default."""

CALLS, TURNS = 80, (0, 30, 60)
NOT_REFUSED = "Edits made by the server", "Edited, but never refused", "Edited nothing already sent"


class Row(msgspec.Struct, frozen=True):
    """One policy: the first refused call by model, None if none is; and with `drop` the tokens of thinking lost."""

    policy: str
    edits: bool
    refused_from: tuple[int | None, ...]
    tokens_dropped: int
    by_server: bool


def conversation(model: str) -> Transcript:
    """Return the conversation as a recording with that model."""
    items, calls, message = [], [], 0
    for n in range(CALLS):
        if n in TURNS:
            items.append(Item("user", len(items), message, f"Task {n}: find where the cache leaks, and mend it."))
            message += 1
        start = len(items)
        items.append(Item("reasoning", start, message, f"File {n} may hold it: look there, then at what it imports."))
        items.append(Item("tool_call", start + 1, message, f'{{"path": "src/m{n}.py"}}', tool="Read", call_id=f"c{n}"))
        calls.append(Call(start, start + 2, model=model, time_s=1_795_000_000.0 + 20 * n))
        text = "".join(f"def step_{n}_{line}(value): return value + {line}\n" for line in range(210))
        items.append(Item("tool_result", start + 2, message + 1, text, tool="Read", answers=start + 1))
        message += 2
    return Transcript("thinking", Head("You mend programs."), tuple(items), tuple(calls))


def rows(names: Collection[str] = ()) -> Iterator[Row]:
    """Yield the row of each policy that can be set, or of those named, in alphabetical order."""
    made = [(one := conversation(model), _provider(one).counter()) for model in MODELS]
    for name, cls in sorted(registered_policies().items()):
        if cls.bound or name in ("recorded", "without") or (names and name not in names):
            continue
        spec = open_policy(SET.get(name, name))
        refused, edits = [], False
        for one, counter in made:
            found = list(replay(one, spec, _provider(one), counter))
            edits |= any(moment != "on_tool_result" for sent in found for moment, _ in sent.edits)
            refused.append(next((sent.call for sent in found if sent.status == "invalid_thinking"), None))
        one, counter = made[0]
        dropped = replay(one, spec, _provider(one, "drop"), counter)
        lost = [sent.tally.thinking_dropped for sent in dropped]
        yield Row(SET.get(name, name), edits, tuple(refused), sum(lost), spec.server_side)


def _provider(recorded: Transcript, thinking: str | None = None) -> Provider:
    return resolve({"window": 200_000, "thinking": thinking}, None, recorded)


def table(names: Collection[str] = ()) -> str:
    """Return Markdown: policies by the first refused call, then a line for each kind of policy that loses nothing."""
    refused: dict[str, list[str]] = {}
    safe: dict[str, list[str]] = {kind: [] for kind in NOT_REFUSED}
    for row in sorted(rows(names), key=lambda row: min((call for call in row.refused_from if call), default=CALLS)):
        if any(row.refused_from) or row.tokens_dropped:
            calls = dict.fromkeys("never" if call is None else str(call) for call in row.refused_from)
            refused.setdefault(", ".join(calls), []).append(f"`{row.policy}` ({row.tokens_dropped:,})")
        else:
            kind = NOT_REFUSED[0 if row.by_server else 1 if row.edits else 2]
            safe[kind].append(f"`{row.policy}`")
    told = (f"- {call}: {', '.join(found)}" for call, found in refused.items())
    rest = (f"{kind}: {', '.join(found)}." for kind, found in safe.items() if found)
    wrap = partial(textwrap.fill, width=120, subsequent_indent="  ", break_on_hyphens=False)
    return "\n\n".join(["\n".join(map(wrap, told)), *map(wrap, rest)])


@click.command()
@click.option("--write", is_flag=True, help="Replace evidence/thinking.md.")
def main(write: bool) -> None:
    """Print which policies are refused, or lose thinking."""
    made = table()
    if not write:
        click.echo(made)
        return
    PAGE.write_text(made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
