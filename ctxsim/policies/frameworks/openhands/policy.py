"""OpenHands' condenser: over a number of events, a summary in the place of those in the middle."""

from dataclasses import dataclass

from ctxsim.policies.agents.openhands.policy import Condensing
from ctxsim.policies.policy import SHIPPED, Count, Positive, Share


@dataclass
class OpenhandsCondenser(Condensing):
    """Over `max_size` events, put a summary in the place of all but the first `keep_first` and the newest half.

    OpenHands/software-agent-sdk, openhands/sdk/context/condenser, LLMSummarizingCondenser with the numbers of
    default_condenser; the system prompt is an event too. Cuts move forward to where calls and results are whole, so
    that nothing may be left behind the summary. Less than `minimum_progress` of the events: nothing happens. With
    `max_tokens` (0: none) it acts over so many too, down to half. Where too little may leave for that, or after a
    refusal, everything is summarized. The summarizer sees 500 characters of each event.
    """

    version = "openhands-sdk 1.58.0"
    read_on = "2026-11-22"
    retries = 5

    max_size: Positive = SHIPPED
    keep_first: Count = SHIPPED
    max_tokens: Count = 0
    minimum_progress: Share = SHIPPED
    summary_tokens: Positive = 1_000

    def threshold(self) -> float | None:
        return self.max_tokens or None
