"""Transcripts x policies to a run's folder."""
