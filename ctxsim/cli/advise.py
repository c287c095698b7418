"""`ctxsim advise`: the settings to change in the agent that recorded the user's sessions."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ctxsim.answers.advice.predicted import keep, not_scored
from ctxsim.answers.advice.search_result import AgentAdvice
from ctxsim.answers.forecast.backtest import HORIZONS
from ctxsim.api.advising import Advised, advise, construct, score
from ctxsim.api.applying import apply, undo
from ctxsim.api.probing import check_setting
from ctxsim.cli import options
from ctxsim.cli.check_setting import lines
from ctxsim.cli.loudness import note
from ctxsim.cli.output import tell, tell_newer, tell_what_was_left_out, tell_written
from ctxsim.cli.progress import progress
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.errors import CtxsimError, many
from ctxsim.live.agent import load_agent
from ctxsim.live.configs.apply import Change
from ctxsim.report.advised import STEPS, answer, came_lines, constructor_screen, screen, tried_sheet
from ctxsim.results.files import PAGES, PICTURES, refuse_other
from ctxsim.runs.conduct import Watch


@click.command("advise")
@options.paths
@click.option("--for", "framework", metavar="NAME", help="Search the arguments of this framework instead of an agent's "
              "settings, and print its constructor.")  # fmt: skip
@options.goal
@options.given(options.as_set, *options.RULES, options.head)
@options.sample("Search on only N transcripts of a large folder, drawn with this seed (default seed: 0).")
@options.jobs("The answer stays")
@options.flag("--verify", "Run the installed agent with the advised settings, and say whether it honours them.")
@options.flag(
    "--apply", "Write the advised settings into the agent's own file, after showing each change and asking.", "write"
)
@options.flag("--undo", "Restore what --apply wrote last.", "back")
@options.flag("--score", "Compare the predictions of earlier advice with the sessions that came after it.", "scoring")
@options.out("Write the HTML page of the replays to this file. With --score, draw the comparison into it.")
@options.form
def command(
    paths: tuple[str, ...], framework: str | None, verify: bool, write: bool, back: bool, scoring: bool,
    out: Path | None, form: str, **said: Any,
) -> None:  # fmt: skip
    """Say what to set in the agents that recorded the sessions in PATHS.

    Without PATHS, reads the sessions that agents keep on this machine. Searches each agent's settings over its
    sessions, and prints what to paste into the agent's own file. --apply keeps a backup of this file, and --undo
    restores it byte for byte.
    """
    if back:
        options.alone("--undo")
        say("\n".join(f"{'restored' if one.backup else 'removed'}: {one.path}" for one in undo()))
        return
    refuse_other(out, PICTURES if scoring else PAGES)
    if (scoring or framework) and form not in ("table", "json"):
        raise click.UsageError(f"{'--score' if scoring else '--for'} prints lines, or --format json")
    if scoring:
        options.alone("--score", ("paths", "form", "out"))
        for line in not_scored(paths):
            note(line, err=True)
        came = score(paths)
        if form == "json":
            show("advise", (), form, came=msgspec.to_builtins(came))
        else:
            few = f"fewer than {HORIZONS[0]} sessions began since the first advice"
            say("\n".join(came_lines(came)) or few)
        if out is not None and came:
            from ctxsim.report.usd_plots import plot_came

            tell_written([plot_came(came, out)], form)
        return
    if framework == "policies":
        raise click.UsageError("--for policies is now: ctxsim bench PATHS, which says which policy to take")
    if (verify or write) and form != "table":
        raise click.UsageError("--verify and --apply print no rows")
    given = options.fields(said)
    if framework is not None:
        options.not_together("--for", ("settings", "verify", "write", "out"))
        given = {name: value for name, value in given.items() if name not in ("settings", "project")}
        with progress("advise") as course:
            framed = construct(framework, paths, watch=Watch(course.finished, course.within), **given)
        if form == "json":
            show("advise", (), form, advice=msgspec.to_builtins(framed))
        else:
            say("\n".join(constructor_screen(framed)))
        return
    with progress("advise") as course:
        found = advise(paths, watch=Watch(course.finished, course.within), **given)
    tell_newer((one.agent, one.version) for one in found.run.info.recorders or ())
    try:
        _print(found, form, more=not (verify or write or out))
    finally:
        # A reader that takes only the first lines, as `head` does, ends the printing.
        for agent in found:
            if agent.prediction is not None:
                keep(agent.prediction, time.time(), paths)
    for name, recordings in found.unadvised.items():
        tell(f"no advice on {many(recordings, 'recording(s)')} of {name}: ctxsim can't replay any setting of it")
    if out is not None:
        from ctxsim.report.page import write_page

        tell_written([write_page(found.run, out, said["goal"], said=tuple(answer(found)))], form)
    verified = True
    for agent in found:
        verified = not verify or (_verify(agent) and verified)
        if write:
            _apply(agent, said["project"])
    if tell_what_was_left_out(found.run.info) or not verified:
        sys.exit(1)


def _verify(one: AgentAdvice) -> bool:
    """Run the installed agent with each advised setting, and with the main model if it can be run with any model.

    Return whether every run was possible.
    """
    for given in one.settings:
        others = {other.key: other.value for other in one.settings if other != given}
        try:
            model = next(iter(one.models), "") if load_agent(one.agent).takes_model else ""
            seen = check_setting(one.agent, {given.key: given.value, **others}, model=model)
        except CtxsimError as error:
            why = str(error).removesuffix(", or add --install")
            tell(f"not verified: {why}, or run: ctxsim check setting {one.agent} {given.key}={given.value} --install")
            return False
        say("\n".join(("", *lines(seen))))
    return True


def _apply(one: AgentAdvice, project: Path | None) -> None:
    def agreed(changes: Sequence[Change]) -> bool:
        click.echo("".join(f"\n{change.diff}\n" for change in changes))
        return click.confirm(f"Write {' and '.join(str(change.path) for change in changes)}?")

    done = apply(one.agent, {given.key: given.value for given in one.settings}, project=project, agreed=agreed)
    for made in done:
        kept = f"; the file as it was: {made.backup}" if made.backup else ""
        say(f"written: {made.path}{kept}; ctxsim advise --undo restores {'it' if len(done) == 1 else 'all of them'}")
    if not one.settings:
        say(f"\n{one.title}: nothing to write.")


def _print(found: Advised, form: str, more: bool) -> None:
    if form == "table":
        say("\n\n".join("\n".join(screen(agent)) for agent in found))
        if more and any(agent.settings for agent in found):
            say("\n".join(("", *STEPS)))
        return
    if form == "md":
        click.echo("".join(f"> {line}\n" for agent in found for line in screen(agent)))
    show("advise", [tried_sheet(found)], form, agents=msgspec.to_builtins(found.agents), replays=found.replays)
