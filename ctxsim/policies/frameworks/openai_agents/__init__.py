"""OpenAI Agents SDK."""
