"""The ledger: what a transcript's requests hold, and the one place that judges and bills them.

`frames` renders items, `request` is the request under way, `cache` matches it with earlier ones, `kernel` answers it,
`ledger` has the calls and all that policies on a transcript share.
"""

from ctxsim.simulator.ledger.kernel import Bill, Kernel, SummaryCall, Verdict
from ctxsim.simulator.ledger.ledger import Ledger, Step
from ctxsim.simulator.ledger.legs import SPREAD, Leg

__all__ = ["SPREAD", "Bill", "Kernel", "Ledger", "Leg", "Step", "SummaryCall", "Verdict"]
