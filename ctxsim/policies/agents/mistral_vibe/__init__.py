"""Mistral's terminal agent."""
