"""tau-bench results: a list of runs, each with its chat messages under `traj`.

Documentation: https://github.com/sierra-research/tau-bench

    [{"task_id": 7, "trial": 0, "reward": 1.0, "info": {}, "traj": [
      {"role": "system", "content": "# Policy"},
      {"role": "user", "content": "Where is my parcel?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find_parcel", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "name": "find_parcel", "content": "on its way"},
      {"role": "assistant", "content": "It is on its way."}]}]
"""

from collections import Counter as Frequencies
from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.chat_messages import add_messages
from ctxsim.readers.assembly.conversations import trial_name
from ctxsim.readers.source import Sample, Source, convert, has
from ctxsim.transcript import Transcript

NAME = "tau-bench"
TITLE = "tau-bench results"
MARKS = ("traj",)
VERSIONS = "results of 2024 and 2025"
READS = "The agent's chat messages of every run, its system prompt included."
NOT_READ = "Rewards and task descriptions; tool definitions, usage and times are not in these files."


class _Run(msgspec.Struct):
    task_id: int | str
    traj: list[Any]
    trial: int | None = None


def matches(sample: Sample) -> bool:
    """A list of objects, each with `traj` and `task_id`."""
    runs = sample.document
    return isinstance(runs, list) and bool(runs) and all(has(run, traj=list, task_id=object) for run in runs)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per run, named by task and trial."""
    seen: Frequencies[str] = Frequencies()
    for number, value in enumerate(sample.document):
        where = f"{source.name} run {number}"
        run = convert(value, _Run, where)
        assembly = Assembly(trial_name(source.name, run.task_id, run.trial, seen), NAME)
        # Call ids repeat even inside a run: results are paired by position first, which is what the assembly does.
        add_messages(assembly, run.traj, where)
        yield assembly.finished()
