"""Strands."""
