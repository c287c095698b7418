"""The contents of a run's folder, and the fields of its description.

`run.json` says what was run: policies, provider, tokenizer and vocabulary hash, inputs and their hashes. It holds no
host, path of this machine or job count, and no time but the day of prices that no recording dates, so that equal
inputs give equal bytes. Every one of TABLES is a Parquet file, or, beyond a million rows, a folder of that name with
one file per million. Those that people open in a spreadsheet are CSV too.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from ctxsim.results.columns import (
    CallRow,
    DrawRow,
    Event,
    FrontierRow,
    ItemRow,
    LossRow,
    NeedleRow,
    NeedRow,
    SummaryRow,
    described,
)

AS_SET = "as-set"
"""The name with which the label of the recorded agent's own policy begins."""


def is_as_set(label: str) -> bool:
    """Return whether a label is the recorded agent's own policy, with any settings."""
    return label.partition(":")[0] == AS_SET


def baseline_in(labels: Iterable[str]) -> str | None:
    """Return the label of the agent as it is set, of several the one with the fewest settings; None without any."""
    return min(filter(is_as_set, labels), key=lambda label: (label != AS_SET) + label.count(";"), default=None)


NOTHING = "keep-all"
"""The policy that never edits, with which others are compared."""


def is_nothing(label: str) -> bool:
    """Return whether a label is that of keep-all, with any estimator."""
    return label.partition(":")[0] == NOTHING


RECORDED = "Recorded transcripts"  # the title of a run of recordings; ` in ` and their paths may follow

OBSERVED = "observed:"
"""The prefix of real agents' labels."""

SCHEMA_VERSION = 4

__version__ = "0.1.0"
"""The version of ctxsim that writes a run."""


TABLES: dict[str, tuple[type[msgspec.Struct], bool]] = {
    "calls": (CallRow, True), "events": (Event, False), "items": (ItemRow, False), "needs": (NeedRow, False),
    "losses": (LossRow, False), "frontier": (FrontierRow, True), "needles": (NeedleRow, True),
    "draws": (DrawRow, True), "summary": (SummaryRow, True),
}  # fmt: skip
"""Each table's row, and whether it is written as CSV too."""

WHERE_ASKED = ("draws",)
"""Tables that are written only if they have rows."""

Tables = dict[str, Any]
"""The rows of one transcript under all policies: by table, except the summary, an Arrow record batch."""


class InputInfo(msgspec.Struct, frozen=True):
    """One source of transcripts. `sha256` is of the file's bytes; for a scenario, of its transcript as JSON."""

    name: str
    sha256: str
    transcripts: int
    calls: int
    notes: tuple[str, ...] = ()
    error: str | None = None
    failed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What could not be replayed and has no rows, one line each: a transcript under one policy, or under all."""
    keys: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """The number of likely keys in its transcripts, by issuer; not looked for in a run without text."""

    @property
    def failures(self) -> tuple[str, ...]:
        """`failed`, or () if nothing failed."""
        return self.failed or ()


class Drawn(msgspec.Struct, frozen=True):
    """A transcript of a sample, and the probability with which it was drawn."""

    transcript: str
    probability: float


class Sample(msgspec.Struct, frozen=True):
    """How the transcripts of a run were drawn from a larger folder.

    `asked` is the number to draw; `by` is the size that probabilities are proportional to. `transcripts`, `priced`,
    `calls`, `tokens` and `usd` are the whole folder's: transcripts with calls, those with known prices, all calls, and
    keep-all's tokens and dollars, which are known and not estimated.
    """

    asked: int
    seed: int
    method: str
    by: str
    transcripts: int
    priced: int
    calls: int
    tokens: int
    usd: float | None
    drawn: tuple[Drawn, ...] = ()


class Recorder(msgspec.Struct, frozen=True, omit_defaults=True):
    """The agent that recorded a transcript, its version and its model; '' if the log doesn't say.

    `fires_at` is the number of tokens from which the agent, as it is set, compacts; None if only a refusal makes it.
    `compacted_at` is the recorded input at which it compacted by itself, `peak` the largest recorded input. Responses
    outside the conversation, which no replay counts, cost `beside_usd` dollars.
    """

    transcript: str
    agent: str
    version: str = ""
    model: str = ""
    fires_at: int | None = None
    compacted_at: int | None = None
    peak: int | None = None
    beside_usd: float = 0.0


class RunInfo(msgspec.Struct, frozen=True):
    """The content of `run.json`: what a run was made from."""

    name: str
    title: str
    ctxsim: str
    tokenizers: dict[str, str]
    policies: tuple[str, ...]
    shown: dict[str, str]
    """Long labels, each with a shorter form that opens the same policy."""
    bounds: tuple[str, ...]
    limits: dict[str, dict[str, float]]
    """By policy and name, the tokens under which its parameters are meant to keep requests."""
    providers: tuple[dict[str, Any], ...]
    inputs: tuple[InputInfo, ...]
    detectors: tuple[str, ...]
    complete: bool = True
    """False if the run was stopped: it holds what was finished by then, and `--resume` goes on."""
    scenario: dict[str, Any] | None = None
    secrets_kept: bool | msgspec.UnsetType = msgspec.UNSET
    """True if likely keys were left in the tables."""
    sample: Sample | msgspec.UnsetType = msgspec.UNSET
    """How the transcripts were drawn, if only a sample of them ran."""
    recorders: tuple[Recorder, ...] | msgspec.UnsetType = msgspec.UNSET
    """One for each transcript that an agent known to ctxsim recorded."""
    refetch: float | msgspec.UnsetType = msgspec.UNSET
    """The rate of refetches to which amounts apply, if one was requested; they apply to rate 0 otherwise."""
    question: str = ""
    """The digest of the run's request: policies, options, names of sources, version."""
    setting: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """How the run was made, for `check run --again`: its options, and its paths as they were given."""
    others_code: str | msgspec.UnsetType = msgspec.UNSET
    """The SHA-256 of the files of policies and estimators from outside ctxsim, if there are any."""
    schema: int = SCHEMA_VERSION
    columns: dict[str, dict[str, str]] = {}
    files: dict[str, str] = {}
    """The SHA-256 of each file of the tables; empty in runs of versions that wrote none."""
    digest: str = ""
    """The SHA-256 of `run.json` itself, with this field empty. It must stay the last field."""


def columns(row: type[msgspec.Struct]) -> dict[str, str]:
    """Return each column of a row type with its kind of number and unit, as `counted, tokens`."""
    return {name: ", ".join(filter(None, (kind, unit))) for name, _, kind, unit, _ in described(row)}
