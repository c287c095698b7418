"""`ctxsim window`: where does my window go, and what does that cost?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ctxsim.answers.bill.what_if import Otherwise, Saving, otherwise, savings
from ctxsim.answers.bill.window import OUTPUT, RESULTS, Amount, Filled, Part, by_server, filled, pooled
from ctxsim.cli import options
from ctxsim.cli.output import tell_fit, tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.show import show
from ctxsim.recorded.as_sent import as_sent
from ctxsim.report.sheet import Cell, Column, Sheet, cell, sheet
from ctxsim.report.window_plots import plot_window
from ctxsim.simulator.measure.measured import HeadMode
from ctxsim.simulator.provider.models import read_overrides

MOST_ROWS, MOST_TRANSCRIPTS = 12, 6
"""Of tables for people; programs get all."""

AMOUNTS = (
    Column("tokens", "tokens", "input tokens over all calls; of output, its own"),
    Column("tokens_share", "of input", "share of all input tokens"),
    Column("usd", "USD", "dollars over all calls; of input as the cache was read and written", rank=1),
    Column("usd_share", "of USD", "share of keep-all's bill"),
    Column("once", "once", "tokens if each had been sent once", rank=2),
    Column("repeated", "repeated", "share of the tokens that stand in lines which an earlier result brought", rank=3),
    Column("items", "items", "different ones", rank=4),
)  # fmt: skip


@click.command("window")
@options.some_paths
@click.option("--over", type=click.IntRange(min=0), default=10_240, metavar="BYTES", help="What a large result is.")
@options.out
@options.given(*options.RULES)
@options.head
@options.form
def command(
    paths: tuple[str, ...], over: int, out: Path | None, models: Path | None, head: HeadMode, form: str, **said: Any
) -> None:
    """Say what fills the requests of recordings: tokens and dollars of each part over all calls, not just once.

    And what would be saved without each tool's results over BYTES, with the other lifetime that the cache can have, and
    without idle time. Rules: docs/window.md.
    """
    entries, given = read_overrides(models) if models else (), options.fields(said)
    reading = Reading(paths)
    found: list[Filled] = []
    others: list[Otherwise] = []
    largest: Filled | None = None
    for transcript in reading:
        for one in as_sent(transcript, given, entries, head):
            if one.transcript.calls:
                hidden = one.transcript.head.hidden
                tell_fit(one.transcript.name, one.size.how, hidden, one.size.factor)
                basis = one.basis()
                made = filled(basis)
                if not made.tokens:
                    reading.left_out.append(f"{made.transcript}: its requests hold nothing")
                    continue
                largest = made if largest is None or made.tokens > largest.tokens else largest
                found.append(made.without_growth())
                others.append(otherwise(basis, over))
    if largest is None:
        reading.errors.append("no call in these transcripts")
        reading.finish()
        return
    sums = pooled(found)
    most = None if form in ("json", "csv") else MOST_ROWS
    sheets = [_parts(sums, found, most), *_servers(sums), _transcripts(found, most and MOST_TRANSCRIPTS)]
    sheets += [*_what_ifs(savings(others), over, most), *_sub_agents(found, others, over, most)]
    show("window", [one for one in sheets if one.rows], form)
    written = _draw(sums, largest, len(found), out or Path("window.png"))
    if form == "table":
        tell_written([written])
    reading.finish()


def _name(part: Part) -> str:
    return f"results of {part.tool}" if part.what == RESULTS and part.tool else part.what


def _percent(value: float | None) -> Cell:
    return cell(value, "{:.0%}")


def _change(share: float) -> Cell:
    return Cell(share - 1, f"{share - 1:+.1%}".replace("-0.0%", "0.0%").replace("+0.0%", "0.0%"))


def _usd(value: float | None) -> Cell:
    return cell(value, "{:,.3f}" if value is not None and value < 100 else "{:,.0f}")


def _amounts(amount: Amount, tokens: float, usd: float, output: bool = False) -> tuple[Any, ...]:
    return (
        round(amount.tokens), _percent(None if output or not tokens else amount.tokens / tokens),
        _usd(amount.usd if usd else None), _percent(amount.usd / usd if usd else None), round(amount.once),
        _percent(amount.repeated / amount.tokens if amount.repeated else None), amount.items or None,
    )  # fmt: skip


def _totals(sums: dict[Part, Amount]) -> tuple[float, float]:
    """Input tokens and dollars of all parts."""
    tokens = sum(amount.tokens for part, amount in sums.items() if part.what != OUTPUT)
    return tokens, sum(amount.usd for amount in sums.values())


def _parts(sums: dict[Part, Amount], found: Sequence[Filled], most: int | None) -> Sheet:
    tokens, usd = _totals(sums)
    ordered = [(_name(part), amount) for part, amount in sums.items() if part.what != OUTPUT]
    shown, rest = ordered[:most], ordered[most:] if most else []
    lines = [(name, *_amounts(amount, tokens, usd)) for name, amount in shown]
    if rest:
        together = Amount()
        for _, amount in rest:
            together = together.plus(amount)
        lines.append((f"{len(rest)} smaller parts", *_amounts(together, tokens, usd)))
    lines += [(part.what, *_amounts(sums[part], tokens, usd, True)) for part in sums if part.what == OUTPUT]
    calls = sum(one.calls for one in found)
    title = f"What fills {calls:,} requests of {len(found):,} transcript{'s' * (len(found) != 1)}"
    notes = [_in_short(sums, tokens), "Under keep-all, as sent."]
    unpriced = sum(not one.priced for one in found)
    if unpriced:
        notes.append(f"Dollars are of {len(found) - unpriced:,} transcripts; no prices are known for {unpriced:,}.")
    children = [one for one in found if one.parent]
    if children:
        share = sum(one.usd or 0.0 for one in children) / usd if usd else 0.0
        notes.append(f"Sub-agents: {len(children):,} transcripts, {share:.0%} of the dollars.")
    return sheet("parts", title, [Column("part", "part", left=True), *AMOUNTS], lines, notes=tuple(notes))


def _in_short(sums: dict[Part, Amount], tokens: float) -> str:
    """The whole in one line: results, heads, the rest, and what of it came again."""
    shares = {"tool results": 0.0, "heads": 0.0, "the rest": 0.0}
    for part, amount in sums.items():
        if part.what != OUTPUT:
            key = "tool results" if part.what == RESULTS else "heads" if part.what.startswith("head") else "the rest"
            shares[key] += amount.tokens / tokens
    repeated = sum(amount.repeated for amount in sums.values()) / tokens
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return f"Of {tokens:,.0f} input tokens: {told}; repeated content {repeated:.0%}."


def _servers(sums: dict[Part, Amount]) -> list[Sheet]:
    tokens, usd = _totals(sums)
    lines = [(server, *_amounts(amount, tokens, usd)) for server, amount in by_server(sums).items()]
    # What they mean stands under the table before.
    plain = [Column(one.name, one.heading, rank=one.rank) for one in AMOUNTS]
    columns = [Column("server", "MCP server", left=True), *plain]
    return [sheet("servers", "Results by MCP server", columns, lines)] if lines else []


def _transcripts(found: Sequence[Filled], most: int | None) -> Sheet:
    """The largest transcripts, or all: what each is filled with most."""
    lines = []
    for one in sorted(found, key=lambda one: -one.tokens)[:most]:
        inputs = {part: amount for part, amount in one.parts.items() if part.what != OUTPUT}
        part = max(inputs, key=lambda part: inputs[part].tokens)
        by = {"results": 0.0, "head": 0.0}
        for name, amount in inputs.items():
            if name.what.partition(",")[0] in by:
                by[name.what.partition(",")[0]] += amount.tokens / one.tokens
        repeated = sum(amount.repeated for amount in inputs.values()) / one.tokens
        lines.append((
            one.transcript, one.calls, round(one.tokens), _usd(one.usd), _percent(by["head"]), _percent(by["results"]),
            _percent(repeated), _name(part), _percent(inputs[part].tokens / one.tokens), one.parent or None,
        ))  # fmt: skip
    columns = [
        Column("transcript", "transcript", left=True), Column("calls", "calls", rank=4),
        Column("tokens", "tokens", "input over all calls"), Column("usd", "USD", "keep-all's bill", rank=1),
        Column("head_share", "head", "share of input"), Column("results_share", "results", "share of input"),
        Column("repeated_share", "repeated", "share of input", rank=3),
        Column("largest", "largest part", "most of the input", left=True, rank=2),
        Column("largest_share", "of input", "its share", rank=2), Column("parent", "parent", "whose sub-agent", rank=5),
    ]  # fmt: skip
    title = "By transcript" if len(lines) == len(found) else f"The largest {len(lines)} of {len(found):,} transcripts"
    return sheet("transcripts", title, columns, lines)


def _what_ifs(saved: Sequence[Saving], over: int, most: int | None) -> list[Sheet]:
    lines = [(_asked(one, over), _change(one.share), _usd(one.usd), cell(one.kept, "{:.1%}"), one.transcripts)
             for one in saved][:most]  # fmt: skip
    columns = [
        Column("what_if", "what if", left=True), Column("usd_change", "dollars", "of the whole bill, against keep-all"),
        Column("usd", "USD"), Column("kept", "kept", "of what later calls used, mean over transcripts", rank=1),
        Column("transcripts", "in", "transcripts that it changes", rank=2),
    ]  # fmt: skip
    notes = ("Each is a replay. Of a tool the same by: ctxsim bench PATH --policy without:tool=NAME,bytes=N",)
    return [sheet("what_ifs", "What if", columns, lines, notes=notes)]


def _sub_agents(found: Sequence[Filled], others: Sequence[Otherwise], over: int, most: int | None) -> Iterator[Sheet]:
    """What-ifs of each sub-agent, the dearest first; people are shown the one that saves most in each."""
    priced = [(one, other.now.usd, other) for one, other in zip(found, others, strict=True)
              if one.parent and other.now.usd]  # fmt: skip
    dearest = sorted(priced, key=lambda one: -one[1])[: most and MOST_TRANSCRIPTS]
    lines = [
        (one.transcript, _usd(usd), _asked(saving, over), _change(saving.share), _usd(saving.usd),
         cell(saving.kept, "{:.1%}"), one.parent)
        for one, usd, other in dearest
        for saving in savings([other])[: most and 1]
    ]  # fmt: skip
    columns = [
        Column("transcript", "sub-agent", left=True), Column("usd_now", "USD", "keep-all's bill"),
        Column("what_if", "what if", left=True), Column("usd_change", "dollars", "of its own bill"),
        Column("usd", "USD then", rank=2), Column("kept", "kept", rank=1), Column("parent", "parent", rank=3),
    ]  # fmt: skip
    yield sheet("sub_agents", f"What would save most in the dearest of {len(priced):,} sub-agents", columns, lines)


def _asked(one: Saving, over: int) -> str:
    if not one.name.startswith("without:"):
        return one.name
    tool = one.name.removeprefix("without:tool=").removesuffix(f",bytes={over}")
    size = f"{over / 1024:g} KB" if over >= 1024 else f"{over} bytes"
    return f"without {tool}'s results over {size}"


def _draw(sums: dict[Part, Amount], largest: Filled, count: int, output: Path) -> Path:
    tokens, usd = _totals(sums)
    inputs = {part: amount for part, amount in sums.items() if part.what != OUTPUT}
    shares = {_name(part): (one.tokens / tokens, one.usd / usd if usd else None) for part, one in inputs.items()}
    growth = {_name(part): values for part, values in largest.growth.items()}
    first = next(iter(shares))
    finding = f"Most of all input, {shares[first][0]:.0%}: {first}"
    about = f"{count:,} transcript{'s' * (count != 1)} under keep-all, as sent"
    return plot_window(shares, growth, largest.transcript, (finding, about), output)
