"""What claims are measured on: scenarios under policies, and recorded transcripts if there are any."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.readers.assembly.segments import segments
from ctxsim.results.columns import CallRow, SummaryRow
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.measure.measured import Basis, Measured, measure
from ctxsim.simulator.measure.summary import WhatIf, summary_row
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import References
from ctxsim.simulator.replay import Replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.synthesis.tool_output import TOOLS, output
from ctxsim.synthesis.words import prose
from ctxsim.transcript import Transcript

UNLIMITED = 1 << 40
UNFETCHED = WhatIf(refetched=False)


class Evidence:
    """Replays, each run once and then cached."""

    def __init__(self, recorded: Sequence[Transcript] = ()) -> None:
        self.recorded = [segment for transcript in recorded if transcript.calls for segment in segments(transcript)]
        """Recorded transcripts, cut into segments where they were compacted."""
        self._count = Counter(open_tokenizer())
        self.basis = cache(self._basis)
        self.measured = cache(self._measured)
        self.opened = cache(self._opened)
        self.references = cache(self._references)
        self.summary = cache(self._summary)

    def count(self, text: str) -> int:
        """Return the tokens of a text by o200k_base."""
        return self._count.text(text)

    def _opened(self, scenario: str) -> tuple[Transcript, Provider, Counter]:
        loaded = load_scenario(scenario)
        return synthesize(loaded), resolve({}, (loaded.name, loaded.provider)), Counter(open_tokenizer())

    def _basis(self, scenario: str, window: int | None = None) -> Basis:
        transcript, provider, counter = self.opened(scenario)
        changed = msgspec.structs.replace(provider, window=window or provider.window)
        return Basis(transcript, changed, counter, self.references(scenario))

    def _measured(self, scenario: str, label: str, window: int | None = None) -> Measured:
        return measure(self.basis(scenario, window), open_policy(label))

    def _references(self, scenario: str) -> References:
        return prepare(self.opened(scenario)[0])

    def calls(self, scenario: str, label: str, window: int | None = None) -> list[CallRow]:
        """Return the call rows of a scenario under a policy."""
        return self.measured(scenario, label, window).rows

    def _summary(self, scenario: str, label: str, window: int | None = None) -> SummaryRow:
        """Return the summary row of a scenario under a policy, against keep-all, without fetching anything again."""
        return summary_row(self.basis(scenario, window), self.measured(scenario, label, window), what_if=UNFETCHED)

    def sent(self, scenario: str, label: str, window: int | None = None) -> list[Sent]:
        """Return every request of a scenario under a policy."""
        transcript, provider, counter = self.opened(scenario)
        changed = msgspec.structs.replace(provider, window=window or provider.window)
        return list(Replay(Ledger(transcript, changed, counter), open_policy(label), self.references(scenario)))

    def turn(self, scenario: str, call: int) -> int:
        """Return the user turn, from 1, that a call belongs to."""
        transcript = self.opened(scenario)[0]
        return sum(item.kind == "user" for item in transcript.items[: transcript.calls[call - 1].start])

    def sample(self, kind: str, chars: int) -> str:
        """Return an invented text of a kind: `prose`, or a coding tool's output, of about `chars` characters."""
        rng = random.Random(f"{kind}-{chars}")
        if kind == "prose":
            return " ".join(prose(rng, chars // 5))[:chars]
        return output(rng, kind, chars)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools whose output can be invented."""
        return tuple(TOOLS)


def first_failure(rows: Sequence[CallRow]) -> CallRow | None:
    """Return the first call that isn't ok."""
    return next((row for row in rows if row.status != "ok"), None)
