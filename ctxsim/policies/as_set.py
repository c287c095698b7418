"""The recorded agent's own policy with its user's settings: the baseline of advice."""

from ctxsim.policies.agents.given import parsed
from ctxsim.policies.policy import Policy


class AsSet(Policy):
    """The policy of the agent that recorded a transcript, with the defaults of its version for its model.

    `given` are settings by the agent's own keys, as `claude-code/autoCompactWindow=200000`, separated by `;`. A setting
    that the agent ignores has no effect. A transcript of an unknown agent, or of none, is sent whole, as by keep-all.
    """

    given: str = ""

    def __post_init__(self) -> None:
        parsed(self.given)
