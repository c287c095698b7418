"""`ctxsim serve`: the mock endpoint."""

from typing import Any

import click

from ctxsim.api import Port
from ctxsim.api.live import serve
from ctxsim.cli import options
from ctxsim.cli.loudness import loudness, note
from ctxsim.cli.terminal import say
from ctxsim.live.log import Entry


@click.command("serve")
@click.argument("what", metavar="PATH|SCENARIO")
@options.given(*options.PLAYED)
@options.faults
@click.option("--port", type=options.number_of(Port), default=8484, show_default=True,
              help="Listen on this port. 0 takes a free port.")  # fmt: skip
@click.option("--host", default="127.0.0.1", help="Listen on this address. Default: 127.0.0.1, for this machine only.")
@click.option("--log", type=options.PATH, metavar="FILE", help="Record every request in this file, as JSON lines.")
@click.option("--files", type=options.PATH, metavar="DIR", help="Write tool results as files into this folder. "
              "Responses then ask the agent to read these files.")  # fmt: skip
def command(what: str, **said: Any) -> None:
    """Play the responses of a conversation to any client, as a mock model.

    The mock model has a real window, cache and rate limit, and reports usage. It speaks OpenAI Chat Completions and
    Responses, Anthropic Messages and Gemini generateContent, streamed or not. Requests whose URL path holds /s/NAME
    form a session NAME of their own. The mock model executes nothing, and sends nothing to other machines.
    """
    # Read here, because requests are handled in other threads, which have no click context.
    quiet = loudness() == "quiet"

    def told(entry: Entry) -> None:
        about = f"step {entry.step}" if entry.step else entry.kind
        lost = f", {entry.dropped} dropped, {entry.cut} cut" if entry.dropped or entry.cut else ""
        again = ", asked again" if entry.retry else ""
        unused = f"; no tool of the request can stand for {entry.unused}" if entry.unused else ""
        if not quiet:
            told_of = f"{about}, {entry.tokens:,} tokens{lost}{again}, {entry.status}{unused}"
            say(f"{entry.session} {entry.number}: {told_of}")

    with serve(what, told=told, **options.fields(said)) as endpoint:
        note(f"Provider: {endpoint.provider.describe()}")
        say(f"{endpoint.conversation.name}: {endpoint.steps} steps at {endpoint.url}/v1")
        endpoint.wait()
