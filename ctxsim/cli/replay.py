"""`ctxsim replay`: one conversation under one policy, as it would have looked at the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from ctxsim.api import Positive
from ctxsim.api.inputs import inputs_of, open_policy, the_one
from ctxsim.cli import completion, options, terminal
from ctxsim.cli.loudness import note, stage
from ctxsim.cli.output import tell_fit, tell_newer, tell_of_labels
from ctxsim.cli.terminal import safe, say
from ctxsim.cli.tracker import HEADINGS, LEGEND, TokenTracker
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import CtxsimError
from ctxsim.runs.transcript_rows import sent_of
from ctxsim.simulator.measure.columns import edits_of, event_rows
from ctxsim.simulator.provider.wire import Format, request_body
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.survival import Survival
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from rich.text import Text

CELLS = 18
"""Characters of the bar that shows the window. With the figures, a line has 79 columns."""


@click.command("replay")
@click.argument("what", metavar="PATH|SCENARIO")
@click.option(
    "--policy", "label", required=True, metavar="LABEL", shell_complete=completion.policies,
    help="Replay under this policy, for example token-budget:budget=30000.",
)  # fmt: skip
@options.given(*options.RULES)
@options.head
@options.across
@options.number
@options.flag("--losses", "Under each call, list what it used of earlier results but its request no longer contained.")
@options.a_number("--request", Positive, "Print only the request of call K.", "K")
@options.one_of(
    "--format", get_args(Format), "With --request, print the request in this form. Default: anthropic.", "wire"
)
def command(
    what: str, label: str, number: int | None, losses: bool, request: int | None, wire: Format | None, **said: Any
) -> None:  # fmt: skip
    """Watch one conversation, call by call, under one policy.

    Prints the calls to standard output. What the policy would have shown to its user goes to standard error.
    """
    if wire is not None and request is None:
        raise CtxsimError("--format is of one request; say which by --request K")
    inputs = inputs_of(what, **options.fields(said))
    with stage("read"):
        one = the_one(inputs, number or 1)
        # Standard input can't be read twice.
        again = inputs.each() if number is None and inputs.paths and what != "-" else ()
        if next(islice(again, 1, None), None) is not None:
            note(f"Note: {what} has more transcripts; this is the first. Choose another by --number N", err=True)
    transcript, provider = one.transcript, one.provider
    tell_fit(transcript.name, provider.size, transcript.head.hidden, provider.tokens_factor)
    spec = open_policy(label)
    tell_of_labels([label])
    tell_newer([(transcript.format, transcript.version)])
    counter = provider.counter()
    one = msgspec.structs.replace(one, counter=counter)
    sent = sent_of(one, spec)
    if request is not None:
        chosen = next(islice(iter(sent), request - 1, None), None)
        if chosen is None:
            raise CtxsimError(f"{transcript.name} has {len(transcript.calls)} calls, there is no call {request}")
        body = request_body(list(chosen.view), transcript.head, wire or "anthropic")
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    say(f"{transcript.name}: {len(transcript.calls)} calls under {spec.label}")
    note(f"Provider: {provider.describe()}")
    if transcript.head.hidden:
        note(f"Head: {transcript.head.hidden:,} tokens that the log doesn't hold ({provider.size})")
    for line in transcript.notes:
        note(f"Note: {line}", err=True)
    watch = LostReferences(transcript) if losses else None
    live = sys.stdout.isatty()
    note(LEGEND)
    say(f"{' ' * (CELLS + 1) if live else ''}call    {HEADINGS}")
    room = provider.window - provider.reserved_output
    tracker = TokenTracker(room)
    console = terminal.console(highlight=False) if live else None
    for call in sent:
        for number, (line, to_stderr) in enumerate(lines_of(call, tracker, counter, watch)):
            if console is None:
                say(line, err=to_stderr)
            else:
                console.print(_coloured(line, number, call, room))


def _coloured(line: str, number: int, sent: Sent, room: int) -> Text:
    """A line of a call in colour. The first line follows a bar that shows the window."""
    from rich.text import Text

    bad = sent.status != "ok"
    style = "red" if bad and number == 0 else "yellow" if "lost:" in line else "cyan" if number else ""
    return Text.assemble(*(() if number else (context_bar(sent.tokens_sent / room, bad), " ")), (safe(line), style))


def context_bar(share: float, bad: bool) -> Text:
    """Return a bar of CELLS characters filled like the window: green, yellow from 70 %, red if `bad` or over 100 %."""
    from rich.text import Text

    full = min(CELLS, round(CELLS * share))
    color = "red" if bad or share > 1 else "yellow" if share >= 0.7 else "green"
    return Text("█" * full, style=color) + Text("░" * (CELLS - full), style="dim")


class LostReferences:
    """What each call used that its view had lost: the sentence, the item that held it, the edit that removed it."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._survival = Survival(prepare(transcript))
        self._edits: dict[int, str] = {}

    def of(self, sent: Sent) -> Iterator[str]:
        """Yield a line per lost reference of this call. Must be called for every call, in order."""
        counts = self._survival.call(sent.call, sent.tally.edits)
        # Edits after an earlier call, or before this one, can have removed what this call needed.
        self._note(sent, after_call=False)
        for need in counts.lost:
            held = self._transcript.items[need.sources[-1]]
            took = self._edits.get(held.place, "an edit")
            yield (
                f"         lost: {need.atom!r} ({need.detector}, {need.age} calls old), used in: "
                f"{self._sentence(sent.call, need.atom)!r}; it was in item {held.place} ({held.tool}), {took}"
            )
        self._note(sent, after_call=True)

    def _note(self, sent: Sent, after_call: bool) -> None:
        for moment, edit in sent.edits:
            if edit.before is not None and (moment == "after_call") == after_call:
                self._edits[edit.before.place] = f"{edit.action} at call {sent.call} ({moment}: {edit.reason})"

    def _sentence(self, call: int, atom: str) -> str:
        """The line of the call's output that uses an atom, shortened around it."""
        found = self._transcript.calls[call - 1]
        for item in self._transcript.items[found.start : found.end]:
            at = item.text.casefold().find(atom.split(" ")[0])
            if at >= 0:
                return " ".join(item.text[max(0, at - 40) : at + 60].split())
        return ""


def lines_of(
    one: Sent, tracker: TokenTracker, counter: Counter, watch: LostReferences | None
) -> Iterator[tuple[str, bool]]:
    """Yield the lines of one call, each with whether it goes to standard error.

    Document 003, "REPL Display": used / window / percent, latest call, average, how many calls of average growth fit.
    """
    tracker.record(one.tokens_sent, one.tokens_output)
    waited = f"waited {one.wait_s:.0f} s  " if one.wait_s else ""
    status = "" if one.status == "ok" else f"✗ {one.status}: {one.verdict.reason}"
    yield f"{one.call:>4}    {tracker.report()}", False
    if waited or status:
        yield f"         {waited}{status}", False
    if watch is not None:
        yield from ((line, False) for line in watch.of(one))
    for text in one.said:
        yield text, True
    if one.edits:
        edited, dropped, taken = edits_of(list(event_rows(one, "", "", counter)))
        removed = f"{taken:,} tokens removed" if taken >= 0 else f"{-taken:,} added"
        moments = ", ".join(dict.fromkeys(moment for moment, _ in one.edits))
        yield f"         compaction ({moments}): {edited} edited, {dropped} dropped, {removed}", False
