"""`ctxsim statusline`: one line for an agent's status line. The help leaves it out, because an agent runs it."""

import click

from ctxsim.answers.bill import status


@click.command("statusline", hidden=True)
def command() -> None:
    """Read the JSON that Claude Code passes to a status-line command, and print the status line."""
    status.main()
