"""Who recorded a transcript: which agent, in which version, with which model."""

from ctxsim.results.info import Recorder
from ctxsim.transcript import Transcript


def recorder_of(transcript: Transcript) -> Recorder | None:
    """Return who recorded a transcript; None for an agent that we don't know."""
    if not transcript.format:
        return None
    from ctxsim.policies.agents.given import agent_of

    agent = agent_of(transcript.format)
    if not agent:
        return None
    inputs = [call.usage.input_tokens for call in transcript.calls if call.usage and call.comparable]
    return Recorder(
        transcript.name, agent, transcript.version, transcript.model, None, transcript.compacted_at,
        max(inputs, default=None),
    )  # fmt: skip
