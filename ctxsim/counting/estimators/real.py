"""Estimators that count by a real tokenizer: another model's, or on a sample of the text."""

from dataclasses import dataclass, field

from ctxsim.counting.estimators.estimator import Estimator, Factor
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter


@dataclass(frozen=True)
class Counts:
    """Mixin for estimators that count by a vocabulary."""

    vocabulary: str = "o200k_base"
    _counter: Counter = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_counter", Counter(open_tokenizer(self.vocabulary)))


class FullCount(Counts, Estimator):
    """A vocabulary's count x factor, rounded up. RooCodeInc/Roo-Code: o200k_base x 1.5; codebuff x 1.35 for Claude."""

    name = "tokenizer"
    # Without a factor it may be the tokenizer against which estimators are judged.
    judged_at = ("factor=1.5",)
    factor: Factor = 1.0

    def text(self, text: str) -> int:
        return -int(-self._counter.text(text) * self.factor // 1)


class Sampled(Counts, Estimator):
    """Count `chars` characters of a text, spread over it in four pieces, and extrapolate. Short texts are exact."""

    chars: int = 2_000

    def text(self, text: str) -> int:
        if len(text) <= self.chars:
            return self._counter.text(text)
        piece = max(1, self.chars // 4)
        starts = [round(part * (len(text) - piece) / 3) for part in range(4)]
        counted = sum(self._counter.text(text[start : start + piece]) for start in starts)
        return -int(-counted * len(text) // (4 * piece))
