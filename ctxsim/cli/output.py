"""What commands print beside their result: notes, warnings, errors, providers, and where results are."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from ctxsim.cli import terminal
from ctxsim.cli.loudness import detail, loudness, note
from ctxsim.errors import agreed, many, one_line
from ctxsim.readers.assembly.segments import UNLOGGED_CLEARING
from ctxsim.readers.source.source import SKIPPED
from ctxsim.results import Run, RunInfo
from ctxsim.safety.redaction.transcripts import NOT_LOOKED_FOR

NOTES_SHOWN = 5
PROVIDERS_SHOWN = 6


def console() -> Any:
    """Return the console for tables: as wide as COLUMNS or the terminal, or else 100 columns."""
    return terminal.console(width=terminal.columns() or 100, soft_wrap=False)


def first(lines: Sequence[str], most: int, rest: str) -> list[str]:
    """Return the first lines; if there are more than `most`, followed by `rest`, formatted with the others' number."""
    return [*lines[:most], *([rest.format(len(lines) - most)] if len(lines) > most else ())]


def tell(text: str) -> None:
    """Print an error or a problem as a line on standard error, also with `-q`."""
    click.echo(f"ctxsim: {one_line(text)}", err=True)


def tell_and_exit(left_out: Iterable[str], errors: Sequence[str]) -> NoReturn:
    """Print the first notes on what was left out, and all errors, each once. Exit with status 1 if there are errors."""
    texts = list(dict.fromkeys(left_out))
    for text in first(texts, len(texts) if loudness() == "verbose" else NOTES_SHOWN, "{:,} more; -v shows all"):
        note(f"left out: {text}", err=True)
    for text in dict.fromkeys(errors):
        tell(text)
    sys.exit(1 if errors else 0)


def tell_of_labels(policies: Iterable[str]) -> None:
    """Print, once each, the labels' renamed parameters, and packages in another version than policies know."""
    from ctxsim.policies import old_names
    from ctxsim.policies.installed import other_versions

    for line in dict.fromkeys(line for label in policies for line in (*old_names(label), *other_versions(label))):
        note(f"Note: {line}", err=True)


def tell_newer(recorded: Iterable[tuple[str, str]]) -> None:
    """Print a line for each agent, given by format and version, that is newer than the version its policy knows."""
    from ctxsim.policies.installed import newer_versions

    for line in newer_versions(recorded):
        note(f"Note: {line}", err=True)


def tell_written(files: Sequence[Path], form: str = "table") -> None:
    """Print which files were written, unless rows for programs are printed."""
    if form == "table":
        note(f"written: {', '.join(map(os.fspath, files))}")


def tell_results(run: Run, pictures: Sequence[Path]) -> None:
    """Print where the results are."""
    names = ", ".join([*(picture.name for picture in pictures), "calls.csv", "summary.csv"])
    note(f"Results: {run.folder}{os.sep} ({names}, ...)\n")


def tell_providers(info: RunInfo) -> None:
    """Print which provider was assumed for each model, and why, a line per model, for the first PROVIDERS_SHOWN."""
    from ctxsim.simulator.provider import Provider

    groups: dict[str, list[Provider]] = {}
    for provider in msgspec.convert(info.providers, list[Provider]):
        groups.setdefault(provider.model, []).append(provider)
    for found in list(groups.values())[:PROVIDERS_SHOWN]:
        more = f" (and {len(found) - 1:,} more of this model, with another factor, window or price date)"
        note(f"Provider: {found[0].describe()}{more if len(found) > 1 else ''}")
    if len(groups) > PROVIDERS_SHOWN:
        note(f"  ... and {len(groups) - PROVIDERS_SHOWN} more models; all of them are in run.json under providers")


def tell_recorders(info: RunInfo) -> None:
    """Print which agents recorded the transcripts, and in which versions, in one line."""
    from ctxsim.answers.advice.setting_names import who

    if info.recorders:
        note(f"Recorded by {who(info.recorders)}")
        tell_newer((one.agent, one.version) for one in info.recorders)


def tell_recorded(run: Run, across: bool = False) -> None:
    """Print how far keep-all's tokens and dollars are from the recorded ones, and which sizes were fitted to them."""
    from ctxsim.answers.advice.advice import recorded

    rows = run.of(run.labels[0])
    like, paid = recorded(run)
    calls = int(like.calls_recorded.sum())
    if across:
        note(
            "Where the agent compacted, keep-all still sends all history; `recorded` is what the agent sent, "
            "without its requests for summaries."
        )
    hows = ", ".join(f"{count:,} {how}" for how, count in rows["size"].value_counts().items())
    if not calls:
        if set(rows["size"]) - {"counted"}:
            whose = " of this model or tokenizer" if rows.calls_recorded.any() else ""
            note(f"No recorded usage{whose} to compare with. Sizes of transcripts: {hows}")
        return
    sent, logged = int(like.tokens_full_recorded.sum()), int(like.tokens_recorded_sum.sum())
    dollars = ""
    if len(paid) and paid.cost_recorded_usd.sum():
        billed, stated = paid.cost_full_recorded_usd.sum(), paid.cost_recorded_usd.sum()
        logs = "logs state" if len(paid) == len(rows) else f"{len(paid):,} of {many(len(rows), 'transcript(s)')} state"
        dollars = f"; {billed:,.2f} USD where {logs} {stated:,.2f} ({billed / stated - 1:+.1%})"
    cleared = sum(f": {UNLOGGED_CLEARING} before call" in line for source in run.info.inputs for line in source.notes)
    if cleared:
        note(f"Recorded tokens fall {cleared:,} x without a logged reason; a new segment begins there.")
    unseen = rows[rows.calls_unseen.notna()]
    if len(unseen):
        median, p95 = unseen.unseen_median.median(), unseen.unseen_p95.median()
        note(f"Error of sizes predicted without fitting: {median:.1%} (p95 {p95:.1%}) in the median session, "
             f"over {int(unseen.calls_unseen.sum()):,} later calls.")  # fmt: skip
    note(
        f"Fitted to the recording: keep-all sends {sent:,} tokens where {logged:,} were recorded "
        f"({sent / logged - 1:+.1%}, {calls:,} calls){dollars}. Sizes of transcripts: {hows}"
    )


def tell_fit(transcript: str, how: str, hidden: int, factor: float) -> None:
    """With `-v`, print how the size of a transcript as it was sent was determined."""
    times = f", {factor:.4g} tokens for each counted one" if factor != 1 else ""
    detail(f"{transcript}: {how}, {hidden:,} tokens that the log doesn't hold{times}")


def tell_fits(run: Run) -> None:
    """With `-v`, print that for every transcript of a run."""
    rows = run.of(run.labels[0])
    for one in zip(rows.transcript, rows["size"], rows.tokens_hidden, rows.tokens_factor, strict=True):
        tell_fit(*one)


def tell_keys(info: RunInfo) -> None:
    """Warn of likely API keys in a run's transcripts, before its tables, pictures or page are shown or written."""
    keys = sum((Counter(source.keys or {}) for source in info.inputs), Counter[str]())
    if keys:
        whose = ", ".join(f"{count} {issuer}" for issuer, count in sorted(keys.items()))
        done = "left in the results by --text kept" if info.secrets_kept else "redacted in the results"
        found = f"{many(keys.total(), 'likely key(s)')} in the transcripts ({whose}): {done}"
        click.echo(f"warning: {found}; not looked for: {NOT_LOOKED_FOR}", err=True)


def tell_what_was_left_out(info: RunInfo) -> int:
    """Print what was left out and why, damaged lines first; return the number of failures."""
    notes = sorted((one for source in info.inputs for one in source.notes), key=lambda one: SKIPPED not in one)
    if notes:
        shown = len(notes) if loudness() == "verbose" else NOTES_SHOWN
        note(f"{many(len(notes), 'note(s) on what was left out or mended')}:", err=True)
        for one in first(notes, shown, "... -v shows all of them"):
            note(f"  {agreed(one_line(one))}", err=True)
    errors = [source.error for source in info.inputs if source.error]
    for error in errors:
        tell(error)
    failed = [f"no rows of {line}" for source in info.inputs for line in source.failures]
    rest = "... and {} more without rows; a bench's run.json names all in inputs[].failed"
    for line in first(failed, NOTES_SHOWN, rest):
        tell(line)
    return len(errors) + len(failed)
