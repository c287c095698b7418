"""`ctxsim statusline`: one line for an agent's status line. Not in the help: an agent runs it, not a person."""

import click

from ctxsim.answers.bill import status


@click.command("statusline", hidden=True)
def command() -> None:
    """Print the line for the JSON that Claude Code hands to a status line's command."""
    status.main()
