"""`ctxsim serve`: the mock endpoint."""

from __future__ import annotations

from pathlib import Path

import click

from ctxsim.cli import options
from ctxsim.cli.loudness import loudness, note
from ctxsim.cli.terminal import safe
from ctxsim.errors import CtxsimError
from ctxsim.live.faults import parse_faults
from ctxsim.live.played import NEEDS, played
from ctxsim.live.script import script_of


@click.command("serve")
@options.played
@options.faults
@click.option("--port", type=click.IntRange(0, 65_535), default=8484, help="0 takes a free one.", show_default=True)
@click.option("--host", default="127.0.0.1", help="The address to listen on; this machine's own alone unless told.")
@click.option("--log", "log_path", type=options.PATH, metavar="FILE", help="Record every request, as JSON lines.")
@click.option("--files", type=options.PATH, metavar="DIR", help="Write results as files here, and ask to read those.")
def command(
    scenario: str | None,
    transcript: str | None,
    number: int,
    faults: tuple[str, ...],
    port: int,
    host: str,
    log_path: Path | None,
    files: Path | None,
    **overrides: object,
) -> None:
    """Play a conversation's responses to any client, with a real window, cache, rate limit and usage.

    OpenAI Chat Completions and Responses, Anthropic Messages and Gemini generateContent, streamed or not. A path that
    begins with /s/NAME is a session of its own. Nothing is executed and nothing leaves this machine.
    """
    try:
        from ctxsim.live.app import Endpoint
        from ctxsim.live.server import listen, serve
    except ImportError:
        raise CtxsimError(NEEDS) from None
    from ctxsim.live.log import Entry, Log
    from ctxsim.live.session import Session

    conversation, provider = played(scenario, transcript, number, overrides)
    broken = parse_faults(faults)
    script = script_of(conversation)
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        for name, text in script.files.items():
            (files / name).write_text(text, encoding="utf-8", errors="replace")
    folder = str(files.absolute()) if files is not None else None

    # Requests come in other threads, which know no command line.
    quiet = loudness() == "quiet"

    def told(entry: Entry) -> None:
        about = f"step {entry.step}" if entry.step else entry.kind
        lost = f", {entry.dropped} dropped, {entry.cut} cut" if entry.dropped or entry.cut else ""
        again = ", asked again" if entry.retry else ""
        unused = f"; no tool of the request can stand for {entry.unused}" if entry.unused else ""
        if not quiet:
            click.echo(safe(f"{entry.session} {entry.number}: {about}, {entry.tokens:,} tokens{lost}{again}, "
                            f"{entry.status}{unused}"))  # fmt: skip

    counter = provider.counter()

    def opened(name: str) -> Session:
        return Session(script, provider, broken, folder=folder, counter=counter)

    bound = listen(host, port)
    with Log(log_path) as log:
        endpoint = Endpoint(opened, log, broken.slow_s)
        endpoint.told = told
        shown = f"[{host}]" if ":" in host else host
        note(f"Provider: {provider.describe()}")
        click.echo(
            f"{safe(conversation.name)}: {len(script.steps)} steps at http://{shown}:{bound.getsockname()[1]}/v1"
        )
        serve(endpoint, bound, host)
