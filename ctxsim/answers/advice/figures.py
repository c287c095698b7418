"""The figures of one policy over all transcripts of a run."""

import msgspec


class Share(msgspec.Struct, frozen=True):
    """A share with its interval: at 90 % for the next sessions, at 95 % for a sampled folder."""

    value: float
    low: float | None = None
    high: float | None = None


class Figures(msgspec.Struct, frozen=True):
    """One policy over all transcripts. None is unknown.

    `usd` is the bill of the transcripts with known prices, `tokens` the input of all; their shares are of keep-all's.
    `peak` is the largest request of all; `peak_mean` the mean of the transcripts' largest, which the share is of.
    `kept_low` and `kept_high`: survival if summaries kept nothing, and if they kept what later calls use. `usd_again`
    and `tokens_again`: what fetching all lost results again adds; `at_rate` is the share of that in the amounts.
    `usd_least`: the least dollars for which as much could have been kept, by any means.
    """

    policy: str
    bound: bool
    transcripts: int
    priced: int
    sessions: int
    calls: int
    usd: float | None
    usd_share: Share | None
    usd_least: float | None
    usd_again: float | None
    tokens_again: int | None
    at_rate: float
    tokens: int
    tokens_share: Share
    peak: int
    peak_mean: int
    peak_share: Share | None
    kept: Share | None
    kept_low: float | None
    kept_high: float | None
    refused: int
    failing: int

    def size(self, of: str) -> float | None:
        """Return an amount: usd, tokens, or peak as the mean largest request."""
        return {"usd": self.usd, "tokens": self.tokens, "peak": self.peak_mean}[of]

    def share(self, of: str) -> Share | None:
        """Return a share: usd, tokens, peak or kept."""
        found: Share | None = self.kept if of == "kept" else getattr(self, f"{of}_share")
        return found
