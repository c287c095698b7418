"""Character classes: letters, digits, punctuation, white space and other scripts each with their own weight."""

import re
from dataclasses import dataclass

from ctxsim.counting.estimators.estimator import Estimator

FEATURES = ("words", "word_letters", "long_letters", "digits", "punctuation", "spaces", "lines", "han_kana", "other")
"""What is counted in a text: runs of Latin letters and the letters in them (those beyond 12 of a run apart), digits,
punctuation, spaces beyond the single one between words, line feeds, CJK characters, and everything else."""

# Non-negative least squares on o200k_base: `ctxsim calibrate --by kind` over 227 recorded transcripts, class_weights.
O200K_WEIGHTS = (0.647, 0.106, 0.463, 0.737, 0.465, 0.127, 0.852, 0.937, 0.547)

_RUN = re.compile(r"[A-Za-z]+")
_DIGIT = re.compile(r"[0-9]")
_SPACE = re.compile(r"[ \t\r]{2,}")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\uff00-\uffef]")


def features(text: str) -> tuple[int, ...]:
    """Return the counts of FEATURES in a text."""
    runs = [len(run) for run in _RUN.findall(text)]
    letters = sum(runs)
    long_letters = sum(size - 12 for size in runs if size > 12)
    han = 0 if text.isascii() else len(_HAN.findall(text))
    other = 0 if text.isascii() else sum(not character.isascii() for character in text) - han
    digits, punctuation = len(_DIGIT.findall(text)), len(_PUNCTUATION.findall(text))
    spaces, lines = sum(len(run) - 1 for run in _SPACE.findall(text)), text.count("\n")
    return len(runs), letters - long_letters, long_letters, digits, punctuation, spaces, lines, han, other


def weighted(text: str, weights: tuple[float, ...]) -> int:
    """Return the weighted sum of a text's features, rounded up."""
    return -int(-sum(weight * count for weight, count in zip(weights, features(text), strict=True)) // 1)


@dataclass(frozen=True)
class Classes(Estimator):
    """A weight per character class, fitted to o200k_base.

    The idea of johannschopplich/tokenx and petasbytes/token-approx; `ctxsim calibrate` fits the weights to your texts.
    """

    name = "classes"

    def text(self, text: str) -> int:
        return weighted(text, O200K_WEIGHTS)
