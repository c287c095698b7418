"""Priors for a recording without usage: the provider's tokens per counted token, and the head that the log lacks.

Both tables are measured on recordings that have usage, by `python -m evidence.priors FOLDER`, which writes them.
"""

from datetime import date as Date
from functools import cache
from pathlib import Path

import msgspec

from ctxsim.counting.tokenizers import per_default, tokenizer_of
from ctxsim.simulator.provider.vendor import fits


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recorded tokens per token that we count with framing: the median of sessions; `low` and `high` are the quartiles.

    It includes tokens that logs leave out and that grow with a session, such as unrecorded thinking.
    """

    model: str
    tokens: float
    low: float
    high: float
    calls: int
    sessions: int


class HeadPrior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recorded tokens of a first call besides what the log holds: the median of sessions, and their quartiles."""

    format: str
    model: str
    tokens: int
    low: int
    high: int
    sessions: int


class Priors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Both tables, with their source and date."""

    source: str
    date: Date
    factor: tuple[Factor, ...] = ()
    head: tuple[HeadPrior, ...] = ()


@cache
def load_priors() -> Priors:
    """Return the measured tables."""
    return msgspec.toml.decode(Path(__file__).with_name("priors.toml").read_bytes(), type=Priors)


def tokens_per_counted(model: str) -> Factor | None:
    """Return the factor of a model by the longest pattern that fits its bare name, or None where none was measured."""
    return max((one for one in load_priors().factor if fits(model, one.model)), key=_length, default=None)


def tokens_factor(model: str) -> float:
    """Return a model's own tokens per token that we count; 1 where none was measured."""
    known = tokens_per_counted(model)
    return known.tokens if known else 1.0


def tokens_per_default(model: str) -> float:
    """Return a model's own tokens per token of o200k_base."""
    return tokens_factor(model) * per_default(tokenizer_of(model)[0])


def head_prior(format: str, model: str) -> HeadPrior | None:
    """Return the hidden head of an agent's format with a model, or None where none was measured.

    A model that wasn't measured gets the format's entry with the most sessions. It isn't converted to the model's
    vocabulary: that predicts worse, as agents send newer Claude models shorter prompts.
    """
    of_format = [one for one in load_priors().head if one.format == format]
    fitting = [one for one in of_format if fits(model, one.model)]
    return max(fitting, key=_length, default=None) or max(of_format, key=lambda one: one.sessions, default=None)


def _length(one: Factor | HeadPrior) -> int:
    return len(one.model)
