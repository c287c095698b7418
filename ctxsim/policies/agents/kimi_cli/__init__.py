"""Kimi CLI."""
