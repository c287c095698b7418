"""One transcript's rows under all policies: ctxsim's own run in this process, users' in processes of their own."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, told
from ctxsim.policies import Spec
from ctxsim.results.frames import tables_of
from ctxsim.results.run_info import Recorder, baseline_in
from ctxsim.runs.rows import Rows, rows_together
from ctxsim.simulator.measure.columns import Columns
from ctxsim.simulator.measure.losses import item_rows
from ctxsim.simulator.measure.measured import AsSent, Basis, Measured, measure
from ctxsim.simulator.measure.summary import WHAT_IF, WhatIf, frontier_rows, summarize
from ctxsim.simulator.replay import Sent, replay
from ctxsim.transcript import Transcript


@contextmanager
def told_in(lines: list[str], name: str, policy: str = "") -> Iterator[None]:
    """Turn an exception into a line and go on: recordings and policies are users' and may raise anything."""
    try:
        yield
    except InputError as error:
        lines.append(str(error))
    except CtxsimError as error:
        lines.append(f"{name}: {error}")
    except Exception as error:  # noqa: BLE001
        lines.append(": ".join(filter(None, (name, policy, told(error)))))


def rows_of(
    one: AsSent, specs: Sequence[Spec], failed: list[str],
    tell: Callable[[int, int], object] = lambda done, known: None, what_if: WhatIf = WHAT_IF,
    baseline: str | None = None,
) -> Rows:  # fmt: skip
    """Return one transcript's rows under all policies; for each that can't run, add a line to `failed`. `what_if` is
    that of `summarize`. `baseline` is the label of the agent as set, if other processes run other policies.

    Policies from files and plug-ins are replayed in processes of their own.
    """
    if not all(spec.own for spec in specs):
        # Imported only if some policy may need a process of its own.
        from ctxsim.runs.own_process import others, rows_apart
    basis, transcript = one.basis(), one.transcript
    baseline = baseline or baseline_in(spec.label for spec in specs)
    recorder = _recorder(transcript)
    here = _Rows(basis, what_if)
    here.add_shared()
    found: list[Rows] = []
    known = len(specs) * len(transcript.calls)
    for number, spec in enumerate(specs):
        before = number * len(transcript.calls)
        tell(before, known)
        with told_in(failed, transcript.name, spec.label):
            if not spec.own and others(spec):
                rows = rows_apart(one, spec, failed, lambda done: tell(before + done, known), what_if)  # noqa: B023
                if rows is not None:
                    found += [here.rows(), rows]
                    here = _Rows(basis, what_if)
                continue
            # Progress counts only this replay, not those that the summary makes.
            measured = measure(basis, spec, lambda done: tell(before + done, known))  # noqa: B023
            here.add(spec, measured)
            if recorder is not None and spec.label == baseline and measured.threshold:
                recorder = msgspec.structs.replace(recorder, fires_at=round(measured.threshold))
    return msgspec.structs.replace(rows_together([*found, here.rows()]), recorder=recorder)


def sent_of(one: AsSent, spec: Spec) -> Iterable[Sent]:
    """Return what is sent of one transcript under a policy, call by call; a user's policy runs in its own process.

    Raises ContractError where the policy breaks its contract, or its process ends or hangs.
    """
    if not spec.own:
        from ctxsim.runs.own_process import others, sent_apart

        if others(spec):
            return sent_apart(one, spec)
    return replay(one.transcript, spec, one.provider, one.counter or one.provider.counter())


def rows_alone(
    basis: Basis, spec: Spec, what_if: WhatIf = WHAT_IF, tell: Callable[[int], object] | None = None
) -> Rows:
    """Return one transcript's rows under one policy, without those that all policies share. `tell`: see `measure`."""
    made = _Rows(basis, what_if)
    made.add(spec, measure(basis, spec, tell))
    return made.rows()


class _Rows:
    """Collects one transcript's rows under some policies that follow one another."""

    def __init__(self, basis: Basis, what_if: WhatIf) -> None:
        self._basis = basis
        self._what_if = what_if
        self._gathered: defaultdict[str, list[Any]] = defaultdict(list)
        self._calls: list[Columns] = []
        self._summaries: list[dict[str, Any]] = []

    def add_shared(self) -> None:
        """Add the rows that don't depend on policies."""
        basis = self._basis
        self._gathered["needs"] += basis.needs
        self._gathered["items"] += item_rows(basis.transcript, basis.references, basis.counter)
        if self._what_if.brackets:
            self._gathered["frontier"] += frontier_rows(basis)

    def add(self, spec: Spec, measured: Measured) -> None:
        """Add the rows of one policy."""
        summary = summarize(self._basis, measured, self._what_if)
        for table, rows in measured.tables.items():
            self._gathered[table] += rows
        if self._what_if.draws:
            from ctxsim.simulator.measure.refetch import draw_rows

            self._gathered["draws"] += draw_rows(self._basis, spec, self._what_if.rate, self._what_if.draws)
        self._calls.append(measured.calls)
        self._summaries.append(summary)

    def rows(self) -> Rows:
        """Return all rows that were added."""
        basis, transcript = self._basis, self._basis.transcript
        tables = tables_of(self._gathered, self._calls)
        words = basis.references.words
        return Rows(transcript.name, transcript.parent, basis.provider, words, tables, self._summaries)


def _recorder(transcript: Transcript) -> Recorder | None:
    """Return a transcript's Recorder; None for a scenario, and for an agent that ctxsim doesn't know."""
    if transcript.format in ("", "synthetic"):
        return None
    from ctxsim.policies import agent_of

    agent = agent_of(transcript.format)
    if not agent:
        return None
    # Imported only for recordings of known agents.
    from ctxsim.recorded.price_fit import cost_beside

    inputs = [call.usage.input_tokens for call in transcript.calls if call.usage and call.comparable]
    return Recorder(
        transcript.name, agent, transcript.version, transcript.model, None, transcript.compacted_at,
        max(inputs, default=None), round(cost_beside(transcript), 10),
    )  # fmt: skip
