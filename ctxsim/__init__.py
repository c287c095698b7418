"""Offline simulator and benchmark for what LLM agents do when their context fills up."""

__version__ = "0.1.0"
