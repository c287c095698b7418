"""Recordings of whole requests, each a copy of the history: which request continues which, and their transcripts."""
