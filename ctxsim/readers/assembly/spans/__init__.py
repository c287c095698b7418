"""Agents' traces from observability tools: spans, the requests in them, and conversations."""

from ctxsim.readers.assembly.spans.conversations import conversations
from ctxsim.readers.assembly.spans.span import Attributes, Event, Span

__all__ = ["Attributes", "Event", "Span", "conversations"]
