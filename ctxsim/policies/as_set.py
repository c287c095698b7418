"""What the recorded agent itself does, as its user has set it: the baseline of advice."""

from dataclasses import dataclass

from ctxsim.policies.agents.given import parsed
from ctxsim.policies.policy import Policy


@dataclass
class AsSet(Policy):
    """The policy of the agent that recorded a transcript, with the defaults of its version for its model.

    `given` are settings by the agent's own keys, as `claude-code/autoCompactWindow=200000`; several stand with `;`
    between. What the agent ignores has no effect here either. A transcript of an agent that we don't know, or of none,
    is left as it is, as by keep-all.
    """

    given: str = ""

    def __post_init__(self) -> None:
        parsed(self.given)
