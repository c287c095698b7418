"""Redaction of private data in recordings: likely keys, account names, e-mail addresses."""

from ctxsim.safety.redaction.keys import Secrets, likely_keys, marked
from ctxsim.safety.redaction.transcripts import Redaction

__all__ = ["Redaction", "Secrets", "likely_keys", "marked"]
