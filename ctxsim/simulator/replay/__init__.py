"""Replay: a transcript, a policy and a provider in, call rows and an audit trail out."""

from ctxsim.simulator.replay.loop import Common, KeptAll, Replay, replay
from ctxsim.simulator.replay.tally import Sent

__all__ = ["Common", "KeptAll", "Replay", "Sent", "replay"]
