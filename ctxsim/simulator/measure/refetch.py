"""The tokens and cost of a replay if what it lost is fetched again: the other end of teacher forcing.

Between the ends the bill is linear in the rate at which an agent fetches again: `cost_usd` + rate x `cost_refetch_usd`.
"""

from random import Random

import msgspec

from ctxsim.policies import Spec
from ctxsim.results.columns import DrawRow
from ctxsim.simulator.measure.columns import total
from ctxsim.simulator.measure.measured import Basis
from ctxsim.simulator.replay.closed import ClosedLoop


class Refetched(msgspec.Struct, frozen=True):
    """One closed replay: calls inserted, those of them whose source had been written to since, and the tokens and
    dollars of all recorded and inserted calls; dollars are None without prices.
    """

    calls: int
    changed: int
    tokens_sent: int
    cost_usd: float | None


def draw_rows(basis: Basis, spec: Spec, rate: float, draws: int) -> list[DrawRow]:
    """Return `draws` seeded draws at a rate, equal in every run; none for a bound, which edits by recorded places.

    Raises ContractError where the policy breaks its contract.
    """
    if any(cls.bound for cls, _, _ in spec.links):
        return []
    name, rows = basis.transcript.name, []
    for draw in range(1, draws + 1):
        again = refetched(basis, spec, (rate, Random(f"{draw} {name}")))
        rows.append(DrawRow(name, spec.label, draw, again.calls, again.cost_usd, again.tokens_sent))
    return rows


def refetched(basis: Basis, spec: Spec, chance: tuple[float, Random] | None = None) -> Refetched:
    """Replay a policy once and fetch again what it lost. `chance` is the rate at which results are fetched, and a
    seeded generator; None fetches all. Raises ContractError where the policy breaks its contract.
    """

    def taken() -> bool:
        return chance is None or chance[1].random() < chance[0]

    loop = ClosedLoop(basis.ledger, spec, basis.references, basis.kept, basis.fetching, taken)
    tokens, costs = 0, []
    for sent in loop:
        tokens += sent.tokens_sent
        costs.append(sent.cost_usd)
    return Refetched(loop.inserted, loop.changed, tokens, total(costs))
