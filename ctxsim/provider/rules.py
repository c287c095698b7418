"""What a provider enforces, as one frozen value, and where that value came from."""

from __future__ import annotations

from typing import Literal

import msgspec

from ctxsim.provider.rate_limit import RateLimit

Resend = Literal["never", "current_turn", "all"]
SummaryMode = Literal["extractive", "empty"]


class Provider(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The rules of one mock provider. Defaults are the fallback of DESIGN section 4.

    `window` and `reserved_output` are tokens, `pace_s` the seconds between request starts where the recording has
    no times. `reasoning` says which recorded reasoning goes out again with later requests.
    """

    tokenizer: str = "o200k_base"
    window: int = 200_000
    reserved_output: int = 0
    framing: Literal["none"] = "none"
    cache: Literal["none"] = "none"
    reasoning: Resend = "never"
    rate_limit: RateLimit | None = None
    pace_s: float = 0.0
    summaries: SummaryMode = "extractive"
    origin: str = "default"

    def __post_init__(self) -> None:
        if self.window <= 0 or self.reserved_output < 0 or self.pace_s < 0:
            raise ValueError("window must be positive, reserved_output and pace_s not negative")

    def describe(self) -> str:
        """One line for people: what was assumed and where from."""
        limit = self.rate_limit.describe() if self.rate_limit else "no rate limit"
        reserved = f" ({self.reserved_output:,} reserved for output)" if self.reserved_output else ""
        return (
            f"window {self.window:,}{reserved}, tokenizer {self.tokenizer}, framing {self.framing}, "
            f"cache {self.cache}, {limit} [{self.origin}]"
        )
