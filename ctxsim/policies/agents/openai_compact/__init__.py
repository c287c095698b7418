"""OpenAI's server-side compaction."""
