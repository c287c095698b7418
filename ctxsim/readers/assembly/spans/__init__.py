"""Agents' traces from observability tools: spans, the requests in them, and conversations."""
