"""The provider: a mock LLM that enforces what a real one enforces and answers with the recorded response."""

from ctxsim.simulator.provider.mock import Bill, MockLLM, Status, SummaryCall, Verdict
from ctxsim.simulator.provider.rate_limit import RateLimit
from ctxsim.simulator.provider.rules import Provider

__all__ = ["Bill", "MockLLM", "Provider", "RateLimit", "Status", "SummaryCall", "Verdict"]
