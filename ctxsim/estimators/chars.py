"""Characters divided by a constant: the rule of thumb that most agents use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ctxsim.errors import LabelError
from ctxsim.estimators.estimator import Estimator


@dataclass(frozen=True)
class Chars(Estimator):
    """ceil(code points / ratio) per text. Seed 004 (3.5 and 4), seed 002 (3), pi (4, ceil)."""

    name: ClassVar[str] = "chars"
    ratio: float = 4

    def __post_init__(self) -> None:
        if not self.ratio > 0:
            raise LabelError(f"chars: ratio must be positive, not {self.ratio}")

    def text(self, text: str) -> int:
        return math.ceil(len(text) / self.ratio)
