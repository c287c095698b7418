"""Anthropic's server-side compaction."""
