"""The ledger: what a transcript's requests hold, and the one place that judges and bills them.

`frames` renders items, `request` is the request under way, `cache` matches it with earlier ones, `kernel` answers it,
`ledger` is what all policies on a transcript share.
"""

from ctxsim.simulator.ledger.kernel import Bill, Kernel, SummaryCall, Verdict
from ctxsim.simulator.ledger.ledger import Ledger, Leg

__all__ = ["Bill", "Kernel", "Ledger", "Leg", "SummaryCall", "Verdict"]
