"""The command line. Each command has a file that parses arguments, calls one public function and prints."""

import errno
import gc
import importlib
import os
import re
import signal
import sys
import tomllib
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import ctxsim
from ctxsim.cli.loudness import taken
from ctxsim.cli.terminal import doors
from ctxsim.errors import CtxsimError, Stopped, nearest, one_line, unknown

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
)

# The help line of each command is in this file too, so that `--help` imports no command.
GROUPS: dict[str, dict[str, str]] = _TABLES["groups"]

COMMANDS = [name for group in GROUPS.values() for name in group]

BEFORE: dict[str, str] = _TABLES["before"]

GONE: dict[str, str] = _TABLES["gone"]
"""Options of the previous version, of any command or of one, and what to type instead."""

GRACE_S = 1.7
"""Seconds that a command has after SIGTERM or Ctrl-C to clean up, before its process is ended."""

WITH_DEFAULTS = ("bench", "sweep")
"""Commands whose options have defaults in a project's file."""


class _Commands(click.Group):
    """Imports a command only when it is called, and names the successor of a command that was renamed."""

    def list_commands(self, context: click.Context) -> list[str]:
        return COMMANDS

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return super().get_command(context, name)
        module: Any = importlib.import_module(f"ctxsim.cli.{'lists' if name == 'list' else name}")
        command: click.Command = module.command
        return command

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(context, taken(context, args))

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and args[0] in BEFORE:
            raise click.UsageError(f"'{args[0]}' is now: {BEFORE[args[0]]}")
        if args and args[0] not in (*COMMANDS, *self.commands) and not args[0].startswith("-"):
            raise click.UsageError(str(unknown("command", args[0], COMMANDS)))
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


def _version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"ctxsim, version {ctxsim.__version__}")
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.option(
    "-q", "--quiet", is_flag=True, expose_value=False, help="With any command, print only the result and errors."
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    help="With any command, also print what was read from each file, and how long each stage took.",
)
@click.option(
    "--trust",
    "trusting",
    is_flag=True,
    help="With any command, run Python code and programs that a project's configuration or a scenario file names.",
)
@click.pass_context
def cli(context: click.Context, trusting: bool) -> None:
    """What would this context policy have done to my agent's conversations?

    Replays recorded or synthetic transcripts through context policies. Works offline: a mock LLM enforces the limits
    that a real one enforces. Start with: ctxsim bench
    """
    from ctxsim.safety.trust import trust_everything

    trust_everything(trusting)
    if context.invoked_subcommand in WITH_DEFAULTS:
        from ctxsim.cli.options import defaults

        context.default_map = defaults()


@cli.command("statusline", hidden=True)
def _statusline() -> None:
    """Read the JSON that Claude Code passes to a status-line command, and print the status line."""
    from ctxsim.answers.bill import status

    status.main()


@doors()
def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's; return its exit status.

    A CtxsimError, and a file that can't be read or written, is printed as one line on standard error, with status 1.
    """
    try:
        ended = cli.main(arguments, prog_name="ctxsim", standalone_mode=False)
        return ended if isinstance(ended, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except click.Abort as end:
        if isinstance(end.__cause__, KeyboardInterrupt):
            click.echo("Stopped.", err=True)
            return 128 + signal.SIGINT
        return 1
    except click.ClickException as error:
        # The answer to a group without a command is its help, which has several lines.
        help_of = error.format_message() if isinstance(error, _NO_ARGUMENTS) else ""
        click.echo(help_of or f"ctxsim: {_of_usage(error)}", err=True)
        return error.exit_code
    except CtxsimError as error:
        click.echo(f"ctxsim: {error}", err=True)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        to_do = _TO_DO.get(error.errno or 0, "")
        click.echo(one_line(f"ctxsim: {where}{error.strerror or error}{to_do}"), err=True)
        return 1


_NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""The error that click 8.2 and newer raises for a group without a command. Older versions print the help themselves."""


_TO_DO = {
    errno.EISDIR: "; name a file in it", errno.ENOTDIR: "; a part of this path is a file",
    errno.ENOENT: "; is the path right?", errno.EEXIST: "; name a folder", errno.ENOSPC: "; make room",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "; name another place, as with --out"),
}  # fmt: skip
"""What to do about an OSError, by its errno."""


def _of_usage(error: click.ClickException) -> str:
    """A usage error of click as one line: what is wrong, the nearest values, and where the help is."""
    said = error.format_message().rstrip(".").replace("a valid integer range", "a whole number")
    said = said.replace("a valid float range", "a number")
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        now = GONE.get(f"{error.ctx.info_name} {error.option_name}", GONE.get(error.option_name, ""))
        if now:
            return f"'{error.option_name}' is now: {now}"
    context, kind = getattr(error, "ctx", None), getattr(getattr(error, "param", None), "type", None)
    known = list(kind.choices) if isinstance(kind, click.Choice) else []
    quoted = re.findall(r"'([^']*)'", said.partition(": ")[2] or said)
    close = nearest(quoted[0], known) if quoted else ""
    help_of = f"; see: {context.command_path} --help" if context is not None else ""
    return one_line(f"{said}{close and f'; {close}'}{help_of}")


def _stop(number: int, frame: object) -> None:
    raise Stopped


def main() -> None:
    """Run this process's command line and end with its status."""
    # After SIGTERM, the command still removes its unfinished files and its worker processes, if it has the time.
    signal.signal(signal.SIGTERM, _stop)
    from ctxsim.safety.processes import collect_rarely, end_soon

    if os.name == "posix":
        end_soon(GRACE_S)
    # No matrix here is large: numpy's threads would only wait for one another, a tenth of a second in each process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    collect_rarely()
    try:
        status = run()
    except Stopped:
        status = 128 + signal.SIGTERM
    except Exception:  # noqa: BLE001
        # A defect of ours. The traceback may quote a recording.
        with doors():
            traceback.print_exc()
        status = 1
    # Python collects once more at exit: without this call, that takes a tenth of a bench's time.
    gc.freeze()
    sys.exit(status)
