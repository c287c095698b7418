"""A recording of which a policy cuts what a later call uses, and the closed loop over it."""

from __future__ import annotations

from samples import TASK, basis_of, chat

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.simulator.measure.measured import Basis
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.replay.closed import ClosedLoop
from ctxsim.transcript import Transcript

PRICES = Prices(input=1.0, output=10.0)
TOKENS = Counter(open_tokenizer()).text

NAMES = "zebra_one zebra_two"
ASK = ("tool_call", '{"path": "a.py"}')
LATER = ("tool_call", '{"path": "b.py"}')
ONE = chat(
    TASK, ASK, ("tool_result", NAMES), LATER, ("tool_result", "ok"), LATER, ("tool_result", "fine"),
    ("assistant", NAMES), ("user", "And?"), ("assistant", "Done."),
)  # fmt: skip
"""mask:keep=1 replaces the names' result before the third request; the fourth one's answer needs it."""

MASK = "mask:keep=1"


def closed(transcript: Transcript, label: str = MASK) -> tuple[ClosedLoop, list[tuple[int, list[str], int]]]:
    """The loop after it has run, and of each request its call, its texts and the tokens of its output."""
    basis = basis_of(transcript, Provider(prices=PRICES))
    loop = loop_of(basis, label)
    return loop, [(sent.call, [item.text for item in sent.view], sent.tokens_output) for sent in loop]


def loop_of(basis: Basis, label: str) -> ClosedLoop:
    return ClosedLoop(basis.ledger, open_policy(label), basis.references, basis.kept, basis.fetching, lambda: True)
