"""What finished tasks give: rows, which are written at once, and what a run's description says of them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.paths import session_id
from ctxsim.results import InputInfo
from ctxsim.results.columns import SummaryRow
from ctxsim.results.run_info import Drawn, Recorder
from ctxsim.results.writer import RunWriter
from ctxsim.runs.anonymous import Numbers
from ctxsim.runs.rows import Done, Rows
from ctxsim.runs.sizes import Plan
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.needs import word_hash


class Gathered:
    """What the sources of a run gave, in the order of `names`; without `text`, numbers stand for their names.

    `sample` is the plan of a drawn sample, and `known` what was known of each source when it was drawn.
    """

    def __init__(
        self, names: Sequence[str], text: bool, writer: RunWriter, sample: Plan | None, known: Sequence[Done]
    ) -> None:
        self._names, self._writer, self._sample, self._known = names, writer, sample, known
        self._numbers = None if text else Numbers()
        self._met = set[str]()
        self.inputs: list[InputInfo] = []
        self.recorders: list[Recorder] = []
        self.drawn: list[Drawn] = []
        self.replayed = 0
        """The number of replays of a transcript under a policy."""
        self._providers: dict[bytes, tuple[int, Provider]] = {}
        """Providers and their numbers, by JSON: most recordings have a provider of their own."""
        self._roots: dict[str, str] = {}
        """Roots of sub-agents only: any other transcript is its own root."""
        self._by_id: dict[str, str] = {}
        """Transcripts by the id in their name."""
        self._foreign: tuple[str, bytes] = ("", b"")
        """Root and hashed words of the last transcript that belongs to another session than the newest one."""
        self._newest: tuple[str, bytes] = ("", b"")

    @property
    def failures(self) -> list[str]:
        """A line for each transcript on which a policy failed."""
        return [line for one in self.inputs for line in one.failures]

    def source(self, at: int, info: InputInfo) -> InputInfo:
        """Take the description of a finished source, and return it with the source's own name.

        Raises InputError if it changed while the sample was drawn.
        """
        if self._sample:
            before = self._known[at].info
            if info.sha256 != before.sha256:
                raise InputError(info.name, "changed while the sample was drawn; run bench again")
            failed = tuple(sorted({*info.failures, *before.failures}))
            info = msgspec.structs.replace(info, failed=failed or msgspec.UNSET)
        self.inputs.append(self._numbers.info(info) if self._numbers else info)
        return msgspec.structs.replace(info, name=self._names[at])

    def transcript(self, at: int, rows: Rows) -> None:
        """Write a transcript's rows. Raises InputError for a transcript that an earlier source had too."""
        if rows.transcript in self._met:
            raise InputError(self._names[at], f"{rows.transcript} is in an earlier path too: leave one of the two out")
        self._met.add(rows.transcript)
        if self._numbers:
            rows = self._numbers.rows(rows)
        self.replayed += len(rows.summaries)
        self.recorders += [rows.recorder] if rows.recorder else []
        if self._sample:
            self.drawn.append(Drawn(rows.transcript, self._sample.by_source[at][rows.number]))
        self._writer.write(rows.tables, self._summary(rows))

    @property
    def providers(self) -> list[Provider]:
        """All providers, in order of first appearance."""
        return [provider for _, provider in self._providers.values()]

    def _summary(self, rows: Rows) -> list[SummaryRow]:
        """Return summary rows: the columns of replay, with those that depend on the transcripts before."""
        root = rows.transcript
        if rows.parent:
            above = rows.parent if rows.parent in self._met else self._by_id.get(session_id(rows.parent), rows.parent)
            root = self._roots[rows.transcript] = self._roots.get(above, above)
        self._by_id[session_id(rows.transcript)] = rows.transcript
        key = msgspec.json.encode(rows.provider)
        number, _ = self._providers.setdefault(key, (len(self._providers), rows.provider))
        if root != self._newest[0]:
            self._foreign = self._newest
        chance = self._chance(rows.tables["needs"])
        self._newest = (root, rows.words)
        return [
            SummaryRow(transcript=rows.transcript, root=root, provider=number, chance_rate=chance, **summary)
            for summary in rows.summaries
        ]

    def _chance(self, needs: Any) -> float | None:
        """Return the share of a transcript's strict needs that results of a foreign transcript hold too."""
        if not needs.num_rows or not self._foreign[0]:
            return None
        import pyarrow.compute

        strict = pyarrow.compute.equal(needs.column("detector"), "strict")
        atoms = needs.column("atom").filter(strict).unique().to_pylist()
        if not atoms:
            return None
        foreign = frozenset(memoryview(self._foreign[1]).cast("I"))
        return round(sum(word_hash(atom) in foreign for atom in atoms) / len(atoms), 6)
