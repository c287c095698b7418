"""What differs from vendor to vendor, as data: framing, prompt cache, rate limit, reasoning, the overflow's wording.

One TOML file per vendor in `vendors/`; each section names its source and date.
"""

from __future__ import annotations

import tomllib
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from ctxsim.errors import unknown

Resend = Literal["never", "current_turn", "all"]


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    source: str = ""
    date: date | None = None


class Framing(_Rule, frozen=True):
    """Tokens around the texts: per request, per wire message, and by model once tools are defined.

    `results_apart`: each result is a wire message of its own, also where several answer one response.
    """

    request: int = 0
    message: int = 0
    results_apart: bool = False
    tools: dict[str, int | str] = {}

    def of_tools(self, model: str) -> int:
        """Tokens of the vendor's own tool prompt; 0 where none is documented."""
        for pattern, tokens in self.tools.items():
            if isinstance(tokens, int) and fnmatchcase(model, pattern):
                return tokens
        return 0


class CacheRule(_Rule, frozen=True):
    """How a prompt cache matches, from how many tokens on, for how long, and whether writes cost extra."""

    kind: Literal["none", "breakpoints", "prefix"] = "none"
    minimum_tokens: int = 0
    minimum_by_model: dict[str, int] = {}
    step: int = 1
    partial_items: bool = False
    lifetime_s: float = 0
    long_lifetime_s: float = 0
    max_breakpoints: int = 4
    lookback: int = 20
    paid_writes: bool = False

    def minimum(self, model: str) -> int:
        """Tokens below which nothing is cached."""
        return next(
            (n for pattern, n in self.minimum_by_model.items() if fnmatchcase(model, pattern)), self.minimum_tokens
        )


class RateRule(_Rule, frozen=True):
    """What a request takes from the bucket."""

    counts_cache_reads: bool = True
    reserves_max_tokens: bool = False
    failed_requests_count: bool = False


class ReasoningRule(_Rule, frozen=True):
    """Which recorded reasoning goes out again."""

    resend: Resend = "never"


class OverflowRule(_Rule, frozen=True):
    """The vendor's wording."""

    message: str = "{tokens} tokens exceed the window of {window}"


class Vendor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of one vendor."""

    name: str
    framing: Framing = Framing()
    cache: CacheRule = CacheRule()
    rate: RateRule = RateRule()
    reasoning: ReasoningRule = ReasoningRule()
    overflow: OverflowRule = OverflowRule()


def vendor_names() -> list[str]:
    """Return the vendors that have a file."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in files("ctxsim.provider").joinpath("vendors").iterdir()
        if entry.name.endswith(".toml")
    )


@cache
def load_vendor(name: str) -> Vendor:
    """Return a vendor's rules. Raises UnknownName, with close ones."""
    if name not in vendor_names():
        raise unknown("vendor", name, vendor_names())
    text = files("ctxsim.provider").joinpath("vendors", f"{name}.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Vendor)
