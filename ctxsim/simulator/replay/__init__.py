"""Replay: a transcript, a policy and a provider in, what was sent at each call out."""

from ctxsim.simulator.replay.loop import Replay, replay
from ctxsim.simulator.replay.sent import Sent

__all__ = ["Replay", "Sent", "replay"]
