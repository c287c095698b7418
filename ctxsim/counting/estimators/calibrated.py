"""An estimator that reads a calibration file, made from the user's own texts, tools and tokenizer."""

from dataclasses import field
from pathlib import Path
from typing import Literal

import msgspec

from ctxsim.counting.estimators.classes import FEATURES, weighted
from ctxsim.counting.estimators.estimator import Estimator, Factor, PerToken
from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file
from ctxsim.transcript import Item

VERSION = 2


class Ratio(msgspec.Struct, frozen=True):
    """Characters per token with its 95 % bootstrap interval over transcripts (None with fewer than six)."""

    chars_per_token: PerToken
    low: float | None
    high: float | None
    texts: int
    transcripts: int
    chars: int
    tokens: int


class Heads(msgspec.Struct, frozen=True):
    """Fitted tokens of requests beyond the logged conversation: system prompt, tools, framing, attachments.

    Median, 10th and 90th percentile over series. A series is the calls of one session to one model, without a
    compaction between them. `left_out` series grow by more than the texts of their log explain, and weren't fitted.
    """

    median: int
    p10: int
    p90: int
    series: int
    left_out: int


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A calibration file: readable JSON, for `calibrated:file=...` and for other programs.

    `divisor`: characters per token to divide by. It is the overall ratio or, with a `risk`, a smaller one, at which the
    probability of under-estimating a request near the window is at most `risk`; `holds_for` says for which requests.
    `heads`: fitted together with a ratio to recorded usage; None if texts were counted.
    """

    version: int
    tokenizer: str
    overall: Ratio
    divisor: PerToken
    risk: float | None
    by: str
    groups: dict[str, Ratio]
    class_weights: dict[str, Factor]
    errors: dict[str, float | None]
    provenance: dict[str, str | int | float]
    heads: Heads | None = None
    holds_for: str = ""


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file. Raises InputError if the file can't be read or a field (named) is invalid."""
    try:
        found = msgspec.json.decode(small_file(path), type=Calibration)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}; write one with ctxsim calibrate") from None
    except (ValueError, RecursionError) as error:
        raise InputError(path, str(error)) from None
    if found.version != VERSION:
        raise InputError(path, f"is version {found.version} of the calibration file; this program reads {VERSION}")
    if found.class_weights.keys() != set(FEATURES):
        raise InputError(path, f"class_weights has other names than {', '.join(FEATURES)}")
    return found


class Calibrated(Estimator):
    """By a calibration file: `use=tool` (a result by its tool's ratio, the rest by the divisor), `ratio` (one divisor)
    or `classes` (the fitted character classes).
    """

    file: str
    use: Literal["tool", "ratio", "classes"] = "tool"
    _calibration: Calibration = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_calibration", read_calibration(Path(self.file)))

    def text(self, text: str) -> int:
        if self.use == "classes":
            return weighted(text, tuple(self._calibration.class_weights[name] for name in FEATURES))
        return -int(-len(text) // self._calibration.divisor)

    def item(self, item: Item) -> int:
        group = self._calibration.groups.get(item.tool) if item.kind == "tool_result" else None
        if self.use != "tool" or self._calibration.by != "tool" or group is None:
            return super().item(item)
        # `divisor` includes the margin for `risk`; a tool's own ratio gets the same margin.
        margin = self._calibration.divisor / self._calibration.overall.chars_per_token
        tokens = -int(-len(item.text) // (group.chars_per_token * margin))
        return tokens + sum(media.tokens for media in item.media)
