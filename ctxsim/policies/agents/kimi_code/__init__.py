"""Kimi Code, the successor of Kimi CLI."""
