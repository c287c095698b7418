"""Vercel AI SDK."""
