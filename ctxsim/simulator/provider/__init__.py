"""The provider's rules as values: models and prices, framing, cache, rate limits, pairs, summaries."""

from ctxsim.simulator.provider.rate_limit import RateLimit
from ctxsim.simulator.provider.rules import Provider, SummaryMode

__all__ = ["Provider", "RateLimit", "SummaryMode"]
