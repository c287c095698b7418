"""Recordings of whole requests, each a copy of the history: which request continues which, and their transcripts."""

from ctxsim.readers.assembly.requests.logged import Caught, Logged, transcripts
from ctxsim.readers.assembly.requests.threads import Request, Step, Thread, threads

__all__ = ["Caught", "Logged", "Request", "Step", "Thread", "threads", "transcripts"]
