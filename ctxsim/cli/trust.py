"""`ctxsim trust`: trust a file that the user has read, as long as it doesn't change."""

from pathlib import Path

import click

from ctxsim.cli import options
from ctxsim.cli.terminal import say
from ctxsim.safety.trust import store, trust


@click.command("trust")
@click.argument("files", nargs=-1, required=True, type=options.PATH)
def command(files: tuple[Path, ...]) -> None:
    """Trust FILES as they are now: ctxsim.toml, pyproject.toml, scenarios. A file that changes must be trusted again.

    A trusted file may load Python files (policies, estimators, readers), start other programs, and read repositories,
    network addresses and folders outside its project. Read a file before you trust it.
    """
    for file in files:
        digest = trust(file)
        say(f"{file}: trusted as it is now ({digest[:12]}), kept in {store()}")
