"""Checks a policy's contract in processes of its own, so that the caller goes on whatever the policy does there.

Two processes hash texts differently, so decisions that depend on the order of a set differ between them. A policy must
not start other processes, end its own, or fail to return.
"""

import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from inspect import get_annotations
from pathlib import Path

import msgspec

from ctxsim.errors import CtxsimError, nearest, told
from ctxsim.plugins.limit import VARIABLE
from ctxsim.policies import Policy, open_policy
from ctxsim.policies.foreign.pipe import Pipe
from ctxsim.policies.trial import refuse
from ctxsim.runs.user_code import shipped, unpack
from ctxsim.safety.processes import environment, python
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.contract import violations
from ctxsim.simulator.replay.guard import MOMENTS
from ctxsim.synthesis import load_scenario, scenario_names, synthesize

CODE = "code"
"""The file beside the answers with the user's own code: so the child knows classes that this process registered."""

WHOLE_S = 600.0
"""Seconds that a whole check may take; a single call of a policy has a limit of its own."""

_STARTS = ("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "subprocess.Popen")


class Checked(msgspec.Struct, frozen=True):
    """One process's result: violations, findings that aren't violations, and a hash of all that the policy did."""

    violations: list[str]
    findings: list[str]
    done: str
    append_only: str = ""
    """A line on whether requests only grow at their end; '' if unknown."""


def check(label: str, whole_s: float = WHOLE_S, scenarios: Sequence[str] = ()) -> Checked:
    """Return how a policy breaks the contract on these scenarios, or on all that come with ctxsim if none are given.

    Raises CtxsimError for a label or a scenario that can't be opened.
    """
    spec = open_policy(label)
    for name in scenarios:
        load_scenario(name)
    until = time.monotonic() + whole_s
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        Path(folder, CODE).write_bytes(pickle.dumps(shipped([spec])))
        answers = [Path(folder) / f"{seed}.json" for seed in ("1", "2")]
        running = [stack.enter_context(_checking(label, answer, scenarios)) for answer in answers]
        first, second = (
            _answer(label, process, answer, until) for process, answer in zip(running, answers, strict=True)
        )
    # The second process only replays. Its own violations matter only if the first has none.
    broken = first.violations or second.violations
    if not broken and first.done != second.done:
        broken.append(f"{label}: another PYTHONHASHSEED gave another result; does it go by the order of a set?")
    return Checked(list(dict.fromkeys(broken)), first.findings, first.done, first.append_only)


@contextmanager
def _checking(label: str, answer: Path, scenarios: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that checks, and kill it at the end of the block, also if Ctrl-C ends that.

    Its result goes to `answer`, named after its hash seed; its output is dropped.
    """
    with subprocess.Popen(
        python("ctxsim.runs.check", label, os.fspath(answer), *scenarios), env=environment(PYTHONHASHSEED=answer.stem),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        try:
            yield running
        finally:
            running.kill()


def _answer(label: str, running: subprocess.Popen[bytes], answer: Path, until: float) -> Checked:
    try:
        status = running.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Checked([f"{label}: did not come back"], [], "")
    try:
        return msgspec.json.decode(answer.read_bytes(), type=Checked)
    except (OSError, msgspec.DecodeError):
        return Checked([f"{label}: ended its process (status {status})"], [], "")


def _here(label: str, scenarios: Sequence[str], thoroughly: bool) -> Checked:
    """Check in this process, which has no other purpose. Without `thoroughly`, only replay and hash."""
    spec = open_policy(label)
    cases = [(synthesize(scenario), scenario) for scenario in map(load_scenario, scenarios)]
    # A `pipe:` policy is another program.
    if not any(issubclass(cls, Pipe) for cls, _, _ in spec.links):
        # The contract can't be checked on what another process does.
        refuse(_STARTS, "starts another process")
    broken: list[str] = []
    digest = hashlib.sha256()
    split, edited, calls = 0, 0, 0
    for transcript, scenario in cases:
        # A quarter of the window makes overflows, and with them on_overflow, happen too.
        for share in (1, 4):
            provider = msgspec.convert(scenario.provider, Provider)
            tight = msgspec.structs.replace(provider, window=provider.window // share)
            found = list(violations(spec, [transcript], tight)) if thoroughly else []
            broken += found
            if found:
                # The policy exceeded its time limit, and would again in each scenario.
                if any(VARIABLE in line for line in found):
                    return Checked(broken, [], "")
                continue
            held = 0
            for sent in replay(transcript, spec, tight, tight.counter()):
                # Edits and their results. What a view kept follows from these and needn't be hashed.
                counted = (sent.status, sent.attempts, sent.tokens_sent, sent.tokens_estimated)
                digest.update(repr((counted, sent.edits, sent.said)).encode())
                calls += 1
                split += sent.status == "invalid_pairs"
                edited += sent.changed_from < held
                held = len(sent.view)
    # A method whose name is only close to a moment's is never called. Too many names are close to `end`.
    named = [moment for moment in MOMENTS if moment != "end"]
    findings = [
        f"{cls.__name__}.{name} is no moment, and never called; {meant}"
        for cls, _, _ in spec.links
        for name, value in vars(cls).items()
        if callable(value) and name[0] != "_" and not hasattr(Policy, name) and (meant := nearest(name, named))
    ]
    for cls, _, _ in spec.links:
        lost = [name for name, kind in get_annotations(cls).items() if "ClassVar" not in str(kind)]
        if lost and "__dataclass_fields__" not in vars(cls):
            findings.append(f"{cls.__name__} is no @dataclass, so no label sets {', '.join(lost)}")
    if split:
        findings.append(f"{split} of {calls} requests split a tool call from its result: a provider refuses them")
    # Replays that break the contract aren't counted; the others can't prove that a policy only appends.
    append_only = "" if broken and not edited else _append_only(spec.server_side, edited, calls)
    return Checked(broken, findings, digest.hexdigest(), append_only)


def _append_only(server_side: bool, edited: int, calls: int) -> str:
    """Return a line on whether requests only grow at their end: today's models bind thinking to what precedes it."""
    if server_side:
        return "append-only: yes, the provider itself edits"
    if not calls:
        return ""
    if not edited:
        return "append-only: yes, in every scenario tried"
    return (
        f"append-only: no, {edited} of {calls} requests, with the whole window and with a quarter of it, change what "
        "stood before: a model that binds thinking refuses them, or drops the thinking behind each edit"
    )


def main() -> None:
    """Check the policy of a label and write what was found to a file."""
    label, answer, *scenarios = sys.argv[1:]
    try:
        unpack(pickle.loads(Path(answer).with_name(CODE).read_bytes()))
        found = _here(label, scenarios or scenario_names(), Path(answer).stem == "1")
    except CtxsimError as error:
        found = Checked([str(error)], [], "")
    # A user's policy may raise anything; the error becomes a line.
    except Exception as error:  # noqa: BLE001
        found = Checked([f"{label}: {told(error)}"], [], "")
    Path(answer).write_bytes(msgspec.json.encode(found))
    # Threads that the policy has started must not keep this process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
