"""Recordings that hold every request whole, a copy of the history each: which goes on from which, and transcripts."""

from ctxsim.readers.assembly.requests.logged import Caught, Logged, transcripts
from ctxsim.readers.assembly.requests.threads import Request, Step, Thread, threads

__all__ = ["Caught", "Logged", "Request", "Step", "Thread", "threads", "transcripts"]
