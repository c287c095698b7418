"""A run's folder: what is in it, and what its description says.

`run.json` says what was run: policies, provider, tokenizer and vocabulary hash, inputs and their hashes. It holds no
time, host, path of this machine or job count, so that equal inputs give equal bytes. Every one of TABLES is a Parquet
file, or, beyond a million rows, a folder of that name with one file per million. Those that people open in a
spreadsheet are CSV too.
"""

import typing
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
)

AS_SET = "as-set"
"""What the label of the recorded agent's own policy begins with."""


def is_as_set(label: str) -> bool:
    """Return whether a label is the recorded agent's own policy, with whatever settings."""
    return label.partition(":")[0] == AS_SET


def baseline_in(labels: Iterable[str]) -> str | None:
    """Return the label of the agent as it is set: of several the one with the fewest settings; None of none."""
    return min(filter(is_as_set, labels), key=lambda label: (label != AS_SET) + label.count(";"), default=None)


NOTHING = "keep-all"
"""The policy that never edits: what others are beside."""


def is_nothing(label: str) -> bool:
    """Return whether a label is that of doing nothing, under whichever estimator."""
    return label.partition(":")[0] == NOTHING


OBSERVED = "observed:"
"""What the label of a real agent begins with."""

SCHEMA_VERSION = 4

__version__ = "0.1.0"
"""The ctxsim that writes a run."""


TABLES: dict[str, tuple[type[msgspec.Struct], bool]] = {
    "calls": (CallRow, True), "events": (Event, False), "items": (ItemRow, False), "needs": (NeedRow, False),
    "losses": (LossRow, False), "frontier": (FrontierRow, True), "needles": (NeedleRow, True),
    "draws": (DrawRow, True), "summary": (SummaryRow, True),
}  # fmt: skip
"""Each table's row, and whether it is written as CSV too."""

WHERE_ASKED = ("draws",)
"""Tables that are written only where they have rows."""


class Tables(msgspec.Struct, frozen=True):
    """What one transcript gives under all policies, by table, but for the summary: Arrow record batches.

    Their types are not named here: whoever only reads a run's description need not wait for Arrow.
    """

    calls: Any
    events: Any
    items: Any
    needs: Any
    losses: Any
    frontier: Any
    needles: Any
    draws: Any


class InputInfo(msgspec.Struct, frozen=True):
    """One source of transcripts. `sha256` is of the file's bytes; for a scenario, of its transcript as JSON."""

    name: str
    sha256: str
    transcripts: int
    calls: int
    notes: tuple[str, ...] = ()
    error: str | None = None
    failed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What could not be replayed, a line each: a policy on a transcript, or all of one. There are no rows of it."""
    keys: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """How many likely keys its transcripts hold, by who issued them; not looked for in a run without text."""

    @property
    def failures(self) -> tuple[str, ...]:
        """The same, also where nothing failed."""
        return self.failed or ()


class Drawn(msgspec.Struct, frozen=True):
    """A transcript of a sample, and the probability with which it came into it."""

    transcript: str
    probability: float


class Sample(msgspec.Struct, frozen=True):
    """How the transcripts of a run were drawn from a larger folder.

    `asked` are how many; `by` is the size that probabilities are proportional to. `transcripts`, `priced`, `calls`,
    `tokens` and `usd` are the whole folder's: transcripts with calls, those with known prices, all calls, and
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
    """Who recorded a transcript: the agent, its version and its model, '' where the log doesn't say.

    `fires_at` are the tokens from which on the agent, as it is set, compacts; None where it doesn't before a refusal.
    `compacted_at` is the recorded input at which it compacted by itself, `peak` the largest recorded one.
    """

    transcript: str
    agent: str
    version: str = ""
    model: str = ""
    fires_at: int | None = None
    compacted_at: int | None = None
    peak: int | None = None


class RunInfo(msgspec.Struct, frozen=True):
    """What a run was made from."""

    name: str
    title: str
    ctxsim: str
    tokenizers: dict[str, str]
    policies: tuple[str, ...]
    shown: dict[str, str]
    """Long labels in a shorter form that opens the same."""
    bounds: tuple[str, ...]
    limits: dict[str, dict[str, float]]
    """By policy, the tokens that its parameters mean requests to stay under, by name."""
    providers: tuple[dict[str, Any], ...]
    inputs: tuple[InputInfo, ...]
    detectors: tuple[str, ...]
    complete: bool = True
    """False if the run was stopped: what was finished by then is in it, and `--resume` goes on."""
    scenario: dict[str, Any] | None = None
    secrets_kept: bool | msgspec.UnsetType = msgspec.UNSET
    """True where likely keys were left in the tables."""
    sample: Sample | msgspec.UnsetType = msgspec.UNSET
    """Where not all transcripts ran, but a sample."""
    recorders: tuple[Recorder, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of transcripts that agents recorded which we know."""
    refetch: float | msgspec.UnsetType = msgspec.UNSET
    """The rate of fetching again that amounts are given at, where one was asked for; they are at 0 otherwise."""
    question: str = ""
    """The digest of what was asked: policies, options, names of sources, version."""
    setting: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """How it was made, for `check run --again`: what was asked for, and paths as they were given."""
    others_code: str | msgspec.UnsetType = msgspec.UNSET
    """The SHA-256 of the files of policies and estimators, where some are of nobody's package."""
    schema: int = SCHEMA_VERSION
    columns: dict[str, dict[str, str]] = {}
    files: dict[str, str] = {}
    """The SHA-256 of each file of the tables; empty in runs of versions that wrote none."""
    digest: str = ""
    """The SHA-256 of `run.json` itself, with nothing between the quotes of this field. It stays the last one."""


def columns(row: type[msgspec.Struct]) -> dict[str, str]:
    """Return each column of a row type with its kind of number and unit, as `counted, tokens`."""
    described = {}
    for name, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta = annotation.__metadata__[0].extra_json_schema
        described[name] = ", ".join(filter(None, (meta["kind"], meta["unit"])))
    return described
