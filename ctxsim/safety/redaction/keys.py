"""Likely keys in texts: found by the forms that those who issue them have given them, and marked where they were.

Only keys with a form of their own are found: a password is a word like any other. Forms are those that issuers publish,
and, where they publish none, those of gitleaks, by its rules' names (gitleaks/gitleaks, config/gitleaks.toml, 009e025).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

_WORD = r"[\w-]"
_LETTERS = "[A-Za-z0-9]"


class Form(NamedTuple):
    """How an issuer's keys begin, and at least how many of which characters follow."""

    issuer: str
    prefixes: tuple[str, ...]
    character: str
    least: int
    source: str


FORMS = (
    Form("Anthropic", ("sk-ant-",), _WORD, 16, "gitleaks: anthropic-api-key, anthropic-admin-api-key"),
    Form(
        "OpenAI", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"), _WORD, 16,
        "gitleaks: openai-api-key; OpenRouter's begin alike",
    ),
    Form("OpenAI", ("sk-",), _LETTERS, 32, "gitleaks: openai-api-key, in its older form"),
    Form("Google", ("AIza",), _WORD, 35, "gitleaks: gcp-api-key"),
    Form(
        "GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _LETTERS, 30,
        "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/",
    ),
    Form("GitHub", ("github_pat_",), r"\w", 30, "gitleaks: github-fine-grained-pat"),
    Form("GitLab", ("glpat-", "gldt-", "glrt-", "glptt-"), _WORD, 20, "gitleaks: gitlab-pat and its like"),
    Form("Hugging Face", ("hf_",), "[A-Za-z]", 30, "gitleaks: huggingface-access-token"),
    Form(
        "AWS", ("AKIA", "ASIA", "ABIA", "ACCA"), "[A-Z0-9]", 16,
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes",
    ),
    Form("Slack", ("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxr-", "xoxs-", "xapp-"), _WORD, 20,
         "https://api.slack.com/concepts/token-types"),
    Form("Stripe", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"), _LETTERS, 16,
         "https://docs.stripe.com/keys"),
    Form("npm", ("npm_",), _LETTERS, 36, "gitleaks: npm-access-token"),
    Form("PyPI", ("pypi-AgE",), _WORD, 40, "https://docs.pypi.org/api/secrets/"),
    Form("SendGrid", ("SG.",), r"[\w.-]", 60, "gitleaks: sendgrid-api-token"),
    Form("xAI", ("xai-",), _WORD, 60, "gitleaks has none; https://docs.x.ai shows it"),
    Form("Groq", ("gsk_",), _LETTERS, 40, "https://console.groq.com/docs/quickstart shows it"),
    Form("JSON web token", ("eyJ",), r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]", 8, "https://www.rfc-editor.org/rfc/rfc7519"),
)  # fmt: skip

PRIVATE_KEY = "private key"
_BEGIN = "-----BEGIN "
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN ).)*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\,:]*)",
    re.DOTALL,
)
"""From its first line to its last; to where its characters end, if the text is cut. RFC 7468, section 10."""

_CUT = r"(?=… \()"
"""What stands where a text was cut for people to look at: a key that is cut there is one however short it is."""

_OF_WORDS = bytes(re.fullmatch(_WORD, chr(byte), re.ASCII) is not None for byte in range(256))
_LONGEST = max(len(prefix) for form in FORMS for prefix in form.prefixes)
_FIRST_TWO = np.zeros(1 << 16, np.bool_)
_FIRST_TWO[[int.from_bytes(prefix[:2].encode(), "little") for form in FORMS for prefix in form.prefixes]] = True


def _pattern(form: Form) -> re.Pattern[str]:
    # At the beginning of a word, or after an escaped line feed: texts hold JSON. Elsewhere time would be quadratic.
    begin = rf"(?:(?<![\w-])|(?<=\\[nrt]))(?:{'|'.join(map(re.escape, form.prefixes))})"
    return re.compile(rf"{begin}(?:{form.character}{{{form.least},}}|{form.character}*{_CUT})", re.ASCII)


_PATTERNS = tuple((form, _pattern(form)) for form in FORMS)


class Found(NamedTuple):
    """A likely key in a text: whose, from where to where."""

    issuer: str
    start: int
    end: int


Patterns = Sequence[tuple[Form, re.Pattern[str]]]


def _possible(text: str, among: Patterns = _PATTERNS) -> Patterns:
    """Those whose prefix a text has: looked for first, which is a hundred times faster than the pattern."""
    return [(form, pattern) for form, pattern in among if any(prefix in text for prefix in form.prefixes)]


def _beginnings(text: str) -> str:
    """Where keys may begin in a text, a line each: words, also behind an escape, with a prefix's first two letters."""
    data = b" %b  " % text.encode("utf-8", "surrogatepass")
    inside = np.frombuffer(data.translate(_OF_WORDS), np.bool_)
    starts = np.flatnonzero(inside[1:] > inside[:-1]) + 1
    escaped = starts[np.frombuffer(data, np.uint8)[starts - 1] == ord("\\")] + 1
    pairs = np.ndarray(len(data) - 1, "<u2", data, strides=1)
    found = (at for places in (starts, escaped) for at in places[_FIRST_TWO[pairs[places]]].tolist())
    return b"\n".join([data[at : at + _LONGEST] for at in found]).decode("utf-8", "replace")


def likely_keys(text: str, among: Patterns = _PATTERNS) -> list[Found]:
    """Return the likely keys of a text in order; of two that overlap the one that begins first, then the longer."""
    found = [
        Found(form.issuer, match.start(), match.end())
        for form, pattern in _possible(text, among)
        for match in pattern.finditer(text)
    ]
    if _BEGIN in text:
        found += [Found(PRIVATE_KEY, *match.span()) for match in _PRIVATE_KEY.finditer(text)]
    apart: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


def marked(text: str) -> str:
    """Return a text with `[redacted: GitHub key]` in place of each likely key."""
    pieces, after = [], 0
    for one in likely_keys(text):
        pieces += [text[after : one.start], _mark(one.issuer)]
        after = one.end
    return "".join(pieces) + text[after:] if pieces else text


def _mark(issuer: str) -> str:
    return f"[redacted: {issuer if issuer == PRIVATE_KEY else f'{issuer} key'}]"


class Secrets:
    """The likely keys of a transcript's texts, and texts made of them without them."""

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(texts)
        # Most forms are in none of them, and most often no form is in any.
        together = "\n".join(texts)
        among = _possible(_beginnings(together))
        if not among and _BEGIN not in together:
            texts = []
        self._whose = {text[one.start : one.end]: one.issuer for text in texts for one in likely_keys(text, among)}

    def __len__(self) -> int:
        return len(self._whose)

    @cached_property
    def issuers(self) -> Counter[str]:
        """How many keys by issuer."""
        return Counter(self._whose.values())

    @cached_property
    def _pieces(self) -> list[tuple[str, str]]:
        """What tells a known key of which a policy left the beginning or the end, and what stands for it."""
        return [
            (piece, _mark(issuer))
            for key, issuer in islice(self._whose.items(), MOST_KNOWN)
            for whole in lines(key)
            for piece in (whole[:PIECE], whole[-PIECE:])
        ]

    def marked(self, text: str) -> str:
        """Return a text with a mark in place of each likely key, and of what is left of one of these."""
        text = marked(text)
        for piece, mark in self._pieces:
            if piece in text:
                text = re.sub(rf"[\w./+=-]*{re.escape(piece)}[\w./+=-]*", mark, text)
        return text

    def marked_atom(self, atom: str) -> str:
        """Return an identifier marked if it holds one of these keys, or is a piece of one."""
        if len(atom) >= PIECE:
            for key, issuer in islice(self._whose.items(), MOST_KNOWN):
                if atom in key:
                    return _mark(issuer)
        return marked(atom)


def lines(key: str) -> list[str]:
    """Return the lines of a private key's body, also where a text holds them as JSON does; another key is one line."""
    if not key.startswith(_BEGIN):
        return [key]
    return [line for line in LINE_END.split(key) if len(line) >= PIECE and "-----" not in line]


LINE_END = re.compile(r"\s+|\\+[nrt]")

PIECE = 10
"""Characters that tell a known key; a shorter identifier is part of too many."""

MOST_KNOWN = 1_000
"""Of more keys in a transcript the later ones are redacted where they are whole: time stays bounded."""
