"""Calibration: characters per token of one's own texts."""
