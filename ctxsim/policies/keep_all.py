"""No compaction: the ceiling of what an agent can know, and what most of the bill is."""

from ctxsim.policies.policy import Policy


class KeepAll(Policy):
    """Sends the whole history. Document 001, "Problem": what happens without a policy."""

    bound = True
