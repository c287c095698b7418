"""Character classes: letters, digits, punctuation, white space and other scripts each with their own weight."""

import re
import string

from ctxsim.counting.estimators.estimator import Estimator

FEATURES = ("words", "word_letters", "long_letters", "digits", "punctuation", "spaces", "lines", "han_kana", "other")
"""What is counted in a text: runs of Latin letters, the letters in them (those after the 12th of a run separately),
digits, punctuation, spaces beyond the single one between words, line feeds, CJK characters, and everything else."""

# Non-negative least squares on o200k_base: `ctxsim calibrate --by kind` over 227 recorded transcripts, class_weights.
O200K_WEIGHTS = (0.647, 0.106, 0.463, 0.737, 0.465, 0.127, 0.852, 0.937, 0.547)

_RUN = re.compile(r"[A-Za-z]+")
_LONG = re.compile(r"[A-Za-z]{12}([A-Za-z]+)")
_SPACE = re.compile(r"[ \t\r]([ \t\r]+)")
_PLAIN = tuple(map(str.encode, (string.ascii_letters, string.digits, string.punctuation)))
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\uff00-\uffef]")


def features(text: str) -> tuple[int, ...]:
    """Return the counts of FEATURES in a text."""
    runs = _RUN.findall(text)
    long_letters = sum(map(len, _LONG.findall(text)))
    plain = text.encode("ascii", "ignore")
    letters, digits, punctuation = (len(plain) - len(plain.translate(None, kind)) for kind in _PLAIN)
    han = 0 if text.isascii() else len(_HAN.findall(text))
    spaces, lines = sum(map(len, _SPACE.findall(text))), text.count("\n")
    other = len(text) - len(plain) - han
    return len(runs), letters - long_letters, long_letters, digits, punctuation, spaces, lines, han, other


def weighted(text: str, weights: tuple[float, ...]) -> int:
    """Return the weighted sum of a text's features, rounded up."""
    return -int(-sum(weight * count for weight, count in zip(weights, features(text), strict=True)) // 1)


class Classes(Estimator):
    """A weight per character class, fitted to o200k_base.

    The idea of johannschopplich/tokenx and petasbytes/token-approx; `ctxsim calibrate` fits the weights to your texts.
    """

    def text(self, text: str) -> int:
        return weighted(text, O200K_WEIGHTS)
