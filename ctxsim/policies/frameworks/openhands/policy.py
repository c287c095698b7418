"""OpenHands' condenser: over a number of events, a summary replaces those in the middle."""

from ctxsim.policies.agents.openhands.policy import Condensing
from ctxsim.policies.policy import SHIPPED, Count, Positive, Share


class OpenhandsCondenser(Condensing):
    """Over `max_size` events, put a summary in the place of all but the first `keep_first` and the newest half.

    OpenHands/software-agent-sdk, openhands/sdk/context/condenser, LLMSummarizingCondenser with the numbers of
    default_condenser; the system prompt is an event too. Cuts move forward until they part no call from its results, so
    that maybe nothing is left behind the summary. If it would remove less than `minimum_progress` of the events,
    nothing happens. Over `max_tokens` (0: none) it condenses to half of that. If too few events can be removed for
    that, or after a refusal, everything is summarized. The summarizer sees 500 characters of each item.
    """

    version = "openhands-sdk 1.58.2"
    retries = 5

    max_size: Positive = SHIPPED
    keep_first: Count = SHIPPED
    max_tokens: Count = 0
    minimum_progress: Share = SHIPPED
    summary_tokens: Positive = 1_000

    def threshold(self) -> float | None:
        return self.max_tokens or None
