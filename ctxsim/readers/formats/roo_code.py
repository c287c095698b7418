r"""Task folders of the Roo Code extension of VS Code, and of its fork Kilo Code: Cline's files, with the model and
compactions in the messages.

Documentation: https://github.com/RooCodeInc/Roo-Code (`src/core/task-persistence`)

    [{"role": "user", "ts": 1000, "content": [{"type": "text", "text": "Any mail?"},
      {"type": "text", "text": "<environment_details>\n<model>m</model>\n</environment_details>"}]},
     {"role": "user", "ts": 9000, "isSummary": true, "content": [{"type": "text", "text": "So far: mail."}]}]
"""

from collections.abc import Iterator
from pathlib import Path

from ctxsim.readers.assembly.task_folders import is_task, task_of
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "roo-code"
TITLE = "Roo Code task folders"
MARKS = ("isSummary",)
VERSIONS = "Roo Code 3; Kilo Code until it became a fork of OpenCode"
READS = "Messages with the usage and dollars of each response, which come from ui_messages.json."
NOT_READ = "Requests for summaries, whose tokens the log doesn't state; tool calls as XML stay text. Checkpoints."


def owns(folder: Path) -> bool:
    """Whether a folder is a task of Roo Code."""
    return is_task(folder, roo=True)


def matches(sample: Sample) -> bool:
    """Whether a sample is such a folder."""
    return sample.folder is not None and owns(sample.folder)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a task."""
    assert sample.folder is not None
    yield task_of(source, sample.folder, NAME)
