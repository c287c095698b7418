"""Replay: a transcript, a policy and a provider in, call rows and an audit trail out."""

from ctxsim.replay.loop import Like, Replay, replay
from ctxsim.replay.tally import Sent

__all__ = ["Like", "Replay", "Sent", "replay"]
