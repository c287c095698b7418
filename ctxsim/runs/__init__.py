"""Runs: replays of transcripts under policies, written to a run's folder."""
