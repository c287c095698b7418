"""The process that replays a user's policy: `python -m ctxsim.runs.own_process_main ANSWERS SEEN PARENT`."""

import os
import pickle
import sys
from contextlib import suppress
from typing import Any

import msgspec

from ctxsim.policies import Spec, open_policies
from ctxsim.policies.trial import Watch, refuse_copies
from ctxsim.runs.own_process import LENGTH_BYTES, Answer, Asked, Shown
from ctxsim.runs.parts import packed
from ctxsim.runs.transcript_rows import rows_alone, told_in
from ctxsim.runs.user_code import unpack
from ctxsim.safety.processes import end_with
from ctxsim.simulator.measure.measured import AsSent, Basis
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.guard import heard_by

VARIABLE = "CTXSIM_POLICY_MB"
DEFAULT_MB = 4_096
"""Memory that such a process may hold, unless CTXSIM_POLICY_MB sets another limit."""


def main() -> None:
    """Answer requests until standard input ends: code first, then transcripts and labels."""
    answers, shown, parent = map(int, sys.argv[1:])
    end_with(parent)
    limit_memory()
    os.set_inheritable(answers, False)
    seen = Shown(shown)
    os.close(shown)
    requests = os.fdopen(os.dup(0), "rb")
    # The policy must not read requests.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    own = os.getpid()
    code = pickle.load(requests)
    watch = Watch()
    refuse_copies()
    heard_by(seen.within)
    unpack(code)
    basis: Basis | None = None
    while requests.peek(1):
        asked: Any = pickle.load(requests)
        if isinstance(asked, AsSent):
            basis = asked.basis()
            continue
        assert basis is not None
        answer = _answered(basis, asked, seen, watch)
        if os.getpid() != own:
            os._exit(1)
        try:
            _write(answers, answer)
        except OSError:
            # The policy has closed the pipe of answers.
            os._exit(1)
    # Threads that a policy has started must not keep this process alive.
    os._exit(0)


def _answered(basis: Basis, asked: Asked, seen: Shown, watch: Watch) -> bytes:
    failed: list[str] = []
    made: bytes | None = None
    label = asked.label
    name = basis.transcript.name
    with told_in(failed, name, label):
        seen.within("constructor")
        (spec,) = open_policies((label,))
        spec.create()
        seen.within("")
        if asked.calls:
            made = _calls(basis, spec, failed)
        else:
            made = packed(rows_alone(basis, spec, asked.what_if, seen.replayed))
    seen.within("")
    if (changed := watch.changed()) and not failed:
        failed, made = [f"{name}: {label}: {changed}"], None
    return msgspec.msgpack.encode(Answer(tuple(failed), made))


def _calls(basis: Basis, spec: Spec, failed: list[str]) -> bytes:
    """Return what is sent, pickled, up to the call at which the policy raises."""
    sent = []
    with told_in(failed, basis.transcript.name, spec.label):
        for call in replay(basis.transcript, spec, basis.provider, basis.counter):
            sent.append(call)
    return pickle.dumps(sent)


def _write(file: int, answer: bytes) -> None:
    data = memoryview(len(answer).to_bytes(LENGTH_BYTES, "big") + answer)
    while data:
        data = data[os.write(file, data) :]


def limit_memory() -> None:
    """Limit the memory of this process, on systems that can, and turn off core dumps."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        most = int(float(os.environ.get(VARIABLE, DEFAULT_MB)) * 1e6)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
