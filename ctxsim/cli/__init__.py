"""The command line: one file per command, each parses, calls one function and prints."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from ctxsim import __version__
from ctxsim.cli.terminal import doors, safe
from ctxsim.errors import CtxsimError, one_line, unknown

COMMANDS = {
    # name: module, one line of help (so that `--help` imports no command)
    "bench": ("bench", "Replay transcripts or scenarios through policies; tables, pictures, result files."),
    "transcripts": ("transcripts", "Check, convert and measure recorded transcripts."),
    "replay": ("replay", "Watch one conversation, call by call, under one policy."),
    "sweep": ("sweep", "Try a grid of a policy's parameters; which setting to take, and why."),
    "report": ("report", "One HTML page of a finished run: charts, tables, call by call."),
    "plot": ("plot", "Draw every chart of a finished run as PNG and SVG."),
    "compare": ("compare", "Two finished runs: what changed, and whether it is more than noise."),
    "losses": ("losses", "What the policies of a finished run lost, taken apart."),
    "window": ("window", "Where a window goes: what fills the requests, what that costs, what could be saved."),
    "compactions": ("compactions", "What recorded compactions kept and lost; score a summary of yours."),
    "claims": ("claims", "What the documents behind ctxsim state, measured."),
    "validate": ("validate", "Compare predicted tokens and cache reads with recorded usage."),
    "accuracy": ("accuracy", "How wrong estimates are on your transcripts, and what that does."),
    "calibrate": ("calibrate", "Fit characters per token to your own transcripts."),
    "serve": ("serve", "A mock endpoint for your own agent: OpenAI, Anthropic and Gemini APIs on this machine."),
    "drive": ("drive", "Let real agents live through a conversation, offline; what they really send."),
    "models": ("models", "List models: window, prices, cache rules, tokenizer."),
    "policies": ("policies", "List the policies with their parameters."),
    "check-policy": ("check_policy", "Check a policy, yours too, against the contract."),
    "doctor": ("doctor", "Which known defects of compaction does a policy have?"),
    "estimators": ("estimators", "List the estimators with their parameters."),
    "check-estimator": ("check_estimator", "Check an estimator, yours too, against the contract."),
    "scenarios": ("scenarios", "List the scenarios that come with ctxsim."),
    "columns": ("columns", "What each column of the result files is; docs/columns.md."),
    "config": ("config", "Show the project's defaults of bench and sweep, and where they are from."),
    "tokenizers": ("tokenizers", "List the tokenizers that work offline here; compare them."),
}


WITH_DEFAULTS = ("bench", "sweep")
"""Commands whose options a project's file has defaults for."""


class _Commands(click.Group):
    """Imports a command only when it is called; turns our errors into one line."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from ctxsim.cli.loudness import with_loudness

        module: Any = importlib.import_module(f"ctxsim.cli.{COMMANDS[name][0]}")
        return with_loudness(module.command)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown("command", args[0], COMMANDS)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ctxsim")
@click.pass_context
def cli(context: click.Context) -> None:
    """What would this context policy have done to my agent's conversations?

    Replays recorded or synthetic transcripts through context policies, offline, with a mock LLM that enforces what a
    real one enforces. Start with: ctxsim bench
    """
    if context.invoked_subcommand in WITH_DEFAULTS:
        from ctxsim.cli.settings import defaults

        context.default_map = defaults()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's; return its exit status.

    Errors of ours, and files that can't be read or written, are one line on standard error and status 1.
    """
    with doors():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        cli.main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except CtxsimError as error:
        click.echo(f"ctxsim: {safe(str(error))}", err=True)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(safe(one_line(f"ctxsim: {where}{error.strerror or error}")), err=True)
        return 1
    return 0


def main() -> None:
    """Run this process's command line and end with its status."""
    # Ended from outside, the command still removes its unfinished files and its worker processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # No matrix here is large: numpy's threads would only wait for one another, a tenth of a second in each process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Modules and rows live until the end, and little of ours is a circle: to look for some at every 700th object takes
    # a fifteenth of a bench's time. At every 100,000th it takes no less than at this, and 50 MiB more.
    gc.set_threshold(10_000, 10, 10)
    status = run()
    # Nor is all of it looked through once more at the very end: that took a tenth of a bench.
    gc.freeze()
    sys.exit(status)
