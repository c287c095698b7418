"""`serve` and `drive`: the mock endpoint, and real agents that are driven through a conversation by it."""

import json
import os
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice, pairwise
from pathlib import Path
from re import escape
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import NamedTuple, Unpack, cast

from ctxsim.api import AnyPath, Port, Positive, Seconds, checks_arguments
from ctxsim.api.inputs import What, inputs_of, the_one
from ctxsim.api.runs import Run
from ctxsim.errors import CtxsimError, InputError, LabelError, many
from ctxsim.live.agent import Agent, agent_names, load_agent
from ctxsim.live.drive import Driven, need_endpoint
from ctxsim.live.drive import drive as driven
from ctxsim.live.faults import Faults, parse_faults
from ctxsim.live.install import located
from ctxsim.live.log import Entry, Log
from ctxsim.live.observed import Observation, observe
from ctxsim.live.script import script_of
from ctxsim.live.session import Session, ask
from ctxsim.policies import open_policies
from ctxsim.readers import read
from ctxsim.readers.assembly.requests.bodies import Api
from ctxsim.results.files import write_file
from ctxsim.results.frames import Frame, frame_of
from ctxsim.runs.observed import write_observed
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.provider.rules import ProviderFields
from ctxsim.transcript import Transcript

BESIDE = ("keep-all", "token-budget", "head-tail")
"""The policies that agents are compared with by default."""


def _played(what: What, number: int, models: AnyPath | None, fields: ProviderFields) -> tuple[Transcript, Provider]:
    """The conversation to play, as it was recorded, and the provider whose rules apply."""
    inputs = inputs_of(what, models=models, **fields)
    if inputs.scenario is not None:
        one = the_one(inputs, number)
        return one.transcript, one.provider
    every = [inputs.transcript] if inputs.transcript else (one for path in inputs.paths for one in read(path))
    chosen = next(islice(every, number - 1, None), None)
    if chosen is None:
        raise CtxsimError(f"{inputs.name} has fewer than {number} transcripts")
    return chosen, resolve(dict(fields), None, chosen, inputs.models)


def faults_of(texts: Sequence[str], conversations: Sequence[Transcript]) -> Faults:
    """Parse the texts of faults. Raises LabelError for an invalid text, and for a step that no conversation has."""
    found = parse_faults(tuple(texts))
    step = max([*found.limited, *found.broken], default=0)
    if step and step > (steps := max((len(script_of(one).steps) for one in conversations), default=0)):
        raise LabelError(f"fault at step {step}: there are {many(steps, 'step(s)')}; name one of them")
    return found


class Endpoint(ExitStack):
    """A running mock endpoint that plays a conversation. Leaving the `with` block or calling `close` stops it.

    `url` is the address for a client. `requests` holds the requests so far.
    """

    def __init__(self, conversation: Transcript, provider: Provider, steps: int) -> None:
        super().__init__()
        self.conversation = conversation
        self.provider = provider
        self.steps = steps
        self.url = ""
        self.requests: list[Entry] = []

    def wait(self) -> None:
        """Block until the process is interrupted: Ctrl-C raises KeyboardInterrupt."""
        threading.Event().wait()

    def frame(self) -> Frame:
        """Return a row for each request so far: session, kind, step, status, tokens, output, what was kept or cut."""
        columns = ("session", "number", "kind", "step", "status", "tokens", "output", "cost_usd", "kept", "cut",
                   "inserted", "dropped", "compacted", "retry")  # fmt: skip
        return frame_of(({name: getattr(one, name) for name in columns} for one in self.requests), columns)


@checks_arguments
def serve(
    what: What,
    *,
    number: Positive = 1,
    port: Port = 0,
    host: str = "127.0.0.1",
    faults: Sequence[str] = (),
    log: AnyPath | None = None,
    files: AnyPath | None = None,
    told: Callable[[Entry], object] = lambda entry: None,
    models: AnyPath | None = None,
    **provider: Unpack[ProviderFields],
) -> Endpoint:
    """Start a mock endpoint that answers any client with a conversation's responses, and enforces a real model's
    limits.

    It speaks OpenAI Chat Completions and Responses, Anthropic Messages and Gemini generateContent.

    - `port`: 0 takes a free port. The address has a token that no other program knows.
    - `faults`: texts such as `429@3`, `stream-error@5`, `usage=0.5`; `ctxsim serve --help` explains them.
    - `log`: a file that gets a JSON line for each request.
    - `files`: a folder where tool results are written as files. The responses then ask the agent to read these files.
    - `told`: a function that is called with each request. `models`: a TOML file of your own models and prices.

    Raises CtxsimError if the conversation can't be played or the port can't be used.
    """
    need_endpoint()
    if log is not None and Path(log).exists() and Path(log).stat().st_size:
        raise InputError(log, "is no empty file; a log holds the requests of one run, so name a new file")
    from ctxsim.live.app import Endpoint as Answering
    from ctxsim.live.server import beside

    conversation, rules = _played(what, number, models, provider)
    broken, script = faults_of(faults, [conversation]), script_of(conversation)
    folder = None
    if files is not None:
        folder = os.fspath(Path(files).absolute())
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in script.files.items():
            Path(folder, name).write_text(text, encoding="utf-8", errors="replace")
    counter = rules.counter()
    made = Endpoint(conversation, rules, len(script.steps))

    def noted(entry: Entry) -> None:
        made.requests.append(entry)
        told(entry)

    written = made.enter_context(Log(Path(log) if log is not None else None, redacted=True))
    answering = Answering(
        lambda name: Session(script, rules, broken, folder=folder, counter=counter), written, broken.slow_s,
        "" if port else token_hex(8),
    )  # fmt: skip
    answering.told = noted
    made.url = made.enter_context(beside(answering, host, port))
    return made


class AgentRun(NamedTuple):
    """The run of one agent: how it ended, and how much of the conversation it sent."""

    driven: Driven
    observation: Observation


class DrivenRun(Run):
    """A run with a row `observed:AGENT@VERSION` for each real agent. `agents` has one AgentRun for each."""

    agents: tuple[AgentRun, ...] = ()


@checks_arguments
def drive(
    agents: str | Sequence[str],
    what: What,
    *,
    policies: Sequence[str] = BESIDE,
    number: Positive = 1,
    faults: Sequence[str] = (),
    install: bool = False,
    version: str = "",
    command: str | None = None,
    limit_s: Seconds = 300.0,
    out: AnyPath | None = None,
    told: Callable[[AgentRun], object] = lambda run: None,
    models: AnyPath | None = None,
    **provider: Unpack[ProviderFields],
) -> DrivenRun:
    """Run real agents through a conversation, offline; return what they sent, beside what policies would have sent.

    - `agents`: names from `ctxsim list agents`. `command` starts your own agent instead; its endpoint is in
      $CTXSIM_URL.
    - `install`: first install each agent, in its pinned version or in the one that `version` names.
    - `told`: a function that is called with each agent's run when it is over. `models`: as for `serve`.

    Each agent works in a folder and a home of its own, with dummy keys. Where the system allows, it reaches no network
    but loopback, and reads only programs and its own folders. Raises CtxsimError.
    """
    names = [agents] if isinstance(agents, str) else list(agents)
    if bool(names) == bool(command):
        raise CtxsimError(f"name an agent ({', '.join(agent_names())}), or give your own as --command")
    conversation, rules = _played(what, number, models, provider)
    open_policies(tuple(policies))
    broken = faults_of(faults, [conversation])
    chosen = [_own(command)] if command else [located(load_agent(name, version), install) for name in names]
    folder = Path(out) if out is not None else Path("results") / f"{Path(conversation.name).name}-driven"
    done: list[AgentRun] = []
    for agent, programs in chosen:
        one = driven(agent, conversation, rules, programs, broken, limit_s, kept=folder)
        done.append(AgentRun(one, observe(agent.label, one.script, one.entries)))
        told(done[-1])
    title = f"{conversation.name}, as {', '.join(agent.name for agent, _ in chosen)} lived it"
    observations = [(one.observation, one.driven.entries) for one in done]
    write_observed(
        folder, title, script_of(conversation).transcript, done[0].driven.provider, tuple(policies), observations
    )
    made = DrivenRun.read(folder)
    made.agents = tuple(done)
    return made


def _own(command: str) -> tuple[Agent, str]:
    """The user's own agent: a command, to which the prompt is appended unless it contains `{prompt}`.

    Names of files become absolute paths, because the agent works in another folder.
    """
    parts = [str(Path(part).absolute()) if Path(part).is_file() else part for part in shlex.split(command)]
    if not parts:
        raise CtxsimError("--command is empty")
    filled = parts if "{prompt}" in command else [*parts, "{prompt}"]
    return Agent(Path(parts[0]).name, command=tuple(filled)), os.environ.get("PATH", os.defpath)


TRIED = ("documented-53k", "one-prompt", "sixty-calls")
"""The scenarios that a user's own agent is tried with."""


def tried(file: str, learn: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Try an agent that a file describes with three conversations, and return what doesn't work and what does.

    A request for a summary is recognised by its text. The result has this text as lines for the file; `learn` writes
    them at the file's end, for later runs. Raises CtxsimError if the agent can't be started.
    """
    bad: list[str] = []
    seen: list[str] = []
    learned: dict[str, None] = {}
    for scenario in TRIED:
        with TemporaryDirectory(prefix="ctxsim-tried-") as folder:
            run = drive(file, scenario, policies=("keep-all",), out=folder).agents[0]
            said_last = run.driven.said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        done = run.driven
        kinds = Counter(entry.kind for entry in done.entries)
        steps, total = min(done.outcome.steps, len(done.script.steps)), len(done.script.steps)
        others = "".join(f", {count} {kind}" for kind, count in sorted(kinds.items()) if kind != "main")
        seen.append(f"{scenario}: {steps} of {total} steps, {kinds['main']} requests of the conversation{others}")
        mains = [entry for entry in done.entries if entry.kind == "main" and entry.status == 200]
        fell = [str(now.step) for last, now in pairwise(mains) if 2 * now.tokens < last.tokens]
        if fell and not kinds["summary"]:
            seen.append(
                f"{scenario}: no summary request was recognised, but at step {', '.join(fell)} the request became less "
                "than half as large. If your agent asks the model for summaries, describe them: [[helpers]]"
            )
        if steps < total:
            status = done.entries[-1].status
            # A scenario's window or rate limit may end an agent that works.
            kept = bad if status == 200 else seen
            why = [f"the last answer was {status}", *(f"it said: {line}" for line in said_last)]
            kept.append(f"{scenario}: it ended after {steps} of {total} steps; {'; '.join(why)}")
        if tools := {entry.unused for entry in done.entries if entry.unused}:
            bad.append(f"{scenario}: no tool of its requests could stand for {', '.join(sorted(tools))}")
        bad += [f"{scenario}: {note}" for note in run.observation.notes if "recognised" in note]
        for entry in done.entries:
            if entry.kind == "summary" and not done.agent.helpers:
                last = {**entry.request, "previous_response_id": None}
                said = ask(cast(Api, entry.api), last, "", False).text.strip()
                pattern = "^" + escape(said[:60]).replace(r"\ ", " ")
                learned[f'[[helpers]]\nkind = "summary"\npattern = {json.dumps(pattern, ensure_ascii=False)}\n'] = None
    seen += [f"its summary request: {lines}" for lines in learned]
    if learned and learn:
        text = Path(file).read_text(encoding="utf-8").rstrip("\n")
        write_file(Path(file), "\n\n".join([text, *learned]))
        seen.append(f"written into {file}")
    return tuple(dict.fromkeys(bad)), tuple(seen)
