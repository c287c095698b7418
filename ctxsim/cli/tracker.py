"""Token tracking as an agent shows it: usage per call, average growth, and how many more calls the window holds."""

HEADINGS = f"{'tokens':>10}{'used':>7}{'growth':>10}{'average':>10}{'left':>7}{'output':>8}"

LEGEND = (
    "used: share of the window; growth: tokens per call; average: since it last fell; "
    "left: calls of average growth that still fit"
)


class TokenTracker:
    """Usage per call. Document 003, part 3 (`TokenTracker`) and `TokenInfo` of part 1, where a call is a "turn"."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._output = self._grows_from = 0
        self.calls: list[int] = []
        """Tokens of each request."""

    def record(self, input_tokens: int, output_tokens: int) -> None:
        """Add one call's usage."""
        if input_tokens < self.used:
            self._grows_from = len(self.calls)
        self.calls.append(input_tokens)
        self._output = output_tokens

    @property
    def used(self) -> int:
        """Tokens of the newest request."""
        return self.calls[-1] if self.calls else 0

    @property
    def available(self) -> int:
        """Tokens left in the window."""
        return max(0, self._window - self.used)

    @property
    def percent_used(self) -> float:
        """Share of the window that the newest request uses, in per cent."""
        return 100 * self.used / self._window

    @property
    def average(self) -> float:
        """Average growth per call since the requests last became smaller; 0 before the second."""
        since = self.calls[self._grows_from :]
        return (since[-1] - since[0]) / (len(since) - 1) if len(since) > 1 else 0.0

    @property
    def calls_left(self) -> int | None:
        """How many calls of average growth still fit; None if requests don't grow."""
        return int(self.available / self.average) if self.average > 0 else None

    def report(self) -> str:
        """Return one line of figures, under `HEADINGS`."""
        left = "-" if self.calls_left is None else f"{self.calls_left:,}"
        growth = self.used - (self.calls[-2] if len(self.calls) > 1 else 0)
        return (
            f"{self.used:>10,}{self.percent_used:>6.1f}%{growth:>+10,}{self.average:>+10,.0f}"
            f"{left:>7}{self._output:>8,}"
        )
