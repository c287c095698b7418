"""The provider's rules as values: models and prices, framing, cache, rate limits, pairs, summaries."""

from ctxsim.simulator.provider.rules import Provider, RateLimit, SummaryMode

__all__ = ["Provider", "RateLimit", "SummaryMode"]
