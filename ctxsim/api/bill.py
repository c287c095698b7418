"""The bill of recorded sessions: what was paid, on what, and what would have made it smaller."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from ctxsim import readers
from ctxsim.answers.bill import index as indexes
from ctxsim.answers.bill.dollars import PriceList
from ctxsim.answers.bill.facts import Session
from ctxsim.answers.bill.smaller import Smaller, smaller
from ctxsim.answers.bill.sums import Bill as Lines
from ctxsim.answers.bill.sums import By, Sum, billed, key_of, sessions_of
from ctxsim.answers.bill.unpaired import BY_NUMBER, FIGURES, Difference, cases, compared, differences
from ctxsim.answers.forecast.forecast import Forecast, forecast
from ctxsim.answers.forecast.sessions import Next
from ctxsim.api import AnyPath, Paths, Positive, checks_arguments, paths_of
from ctxsim.api.rules import parse_rules
from ctxsim.errors import CtxsimError, InputError, NotATranscript
from ctxsim.readers.paths import FOUND
from ctxsim.readers.source import Source
from ctxsim.results.frames import Frame, frame_of

DAYS = 30

MEMORY_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
"""Files of a project that agents send with every request."""

BYTES_EACH = 16_000_000
"""Bytes of new files that are worth a process: a bill only reads them."""

Tell = Callable[[str, int, int, int], object]
"""Callback after each source: its name, its number of sessions and of responses, and the number of all sources."""


class Bill(msgspec.Struct, frozen=True):
    """What sessions cost.

    - `lines`: every response.
    - `left_out`, `errors`: what wasn't read, and why.
    - `memory`: tokens of each memory file of the project, if a project was named. `folder`: that project's folder.
    """

    lines: Lines
    prices: PriceList
    left_out: list[str] = []
    errors: list[str] = []
    memory: dict[str, int] = {}
    folder: Path | None = None

    def total(self) -> Sum:
        """Return the sum of all lines."""
        return self.lines.total()

    @checks_arguments
    def by(self, by: By = "project") -> dict[str, Sum]:
        """Return sums by day, week, project, session, model or agent: days and weeks in order, others by cost.

        Raises UnknownName for another word. `total().parts` has the sums by part.
        """
        found = self.lines.by(key_of(by))
        if by in ("day", "week"):
            return dict(sorted(found.items()))
        return dict(sorted(found.items(), key=lambda pair: (-pair[1].usd, -pair[1].input, pair[0])))

    def smaller(self) -> Smaller:
        """Return the changes that would have made the bill smaller, each billed over these sessions."""
        return smaller(self.lines, self.prices, self.memory, self.folder)

    @checks_arguments
    def ahead(self, days: Positive = DAYS) -> Forecast | None:
        """Return a forecast for the next days. Return None without sessions, or if one has no time."""
        sessions = sessions_of(self.lines)
        if not len(sessions) or None in sessions.started:
            return None
        return forecast(sessions, "as it is", Next(days, days=True))

    def frame(self, by: By = "project") -> Frame:
        """Return the sums by a grouping as a frame: tokens by class, dollars recorded and listed."""
        kinds, others = ("read", "write", "plain", "output"), ("usd_recorded", "usd_listed", "unpriced")
        return frame_of(
            ({by: name, "sessions": len(one.sessions), "responses": one.responses,
              **{kind: one.told(kind) for kind in kinds}, **{key: getattr(one, key) for key in others}}
             for name, one in self.by(by).items()),
            [by, "sessions", "responses", *kinds, *others],
        )  # fmt: skip


@checks_arguments
def bill(
    what: Paths = FOUND,
    *,
    days: Positive | None = DAYS,
    project: AnyPath | None = None,
    index: bool = True,
    jobs: Positive | None = 1,
    tell: Tell | None = None,
) -> Bill:
    """Return the bill of recordings for the `days` days up to the newest recorded call, or for all if `days` is None.

    - `what`: paths. Default: the agents' own folders.
    - `project`: a folder whose memory files are counted.
    - `index`: take the figures of unchanged files from ctxsim's cache folder, and store those of new files there.
    - `jobs`: processes that read new files. None: as many as are worth starting.

    Raises InputError for an invalid path, and CtxsimError if memory isn't enough to read the files.
    """
    place = indexes.place()
    known = indexes.load(place) if index else indexes.Index(version="")
    prices, sources = PriceList(known), list(readers.sources(*paths_of(what)))
    keys = list(map(indexes.key_of, sources))
    before = [indexes.known(known, key) for key in keys]
    new = _extracted([source for source, found in zip(sources, before, strict=True) if found is None], jobs)
    sessions: list[Session] = []
    left_out: list[str] = []
    errors: list[str] = []
    changed = False
    for source, key, held in zip(sources, keys, before, strict=True):
        found = next(new) if held is None else held
        if isinstance(found, InputError):
            of_no_format = isinstance(found, NotATranscript) and not source.named
            (left_out if of_no_format else errors).append(str(found))
            found = ()
        elif held is None:
            changed |= indexes.add(known, key, found)
        sessions += found
        left_out += [f"{one.name}: {line}" for one in found for line in one.skipped]
        if tell:
            tell(source.name, len(found), sum(len(one.responses) for one in found), len(sources))
    lines = billed(sessions, prices, days)
    if index and (changed or prices.changed):
        indexes.save(place, known)
    folder = None if project is None else Path(project).resolve()
    return Bill(lines, prices, left_out, errors, {} if project is None else _memory(Path(project)), folder)


class Unpaired(msgspec.Struct, frozen=True):
    """What changed between two sets of sessions.

    - `broken`: the figures that break a rule. `errors`: recordings that couldn't be read.
    - `alike`: only sessions whose project and model are in both sets are compared. `left_out`: the others of each set.
    """

    differences: list[Difference]
    broken: list[Difference]
    errors: list[str]
    alike: bool
    left_out: tuple[int, int]

    def frame(self) -> Frame:
        """Return a row for each figure."""
        return frame_of(self.differences, Difference)


@checks_arguments
def compare_unpaired(before: AnyPath, after: AnyPath, fail_if: Sequence[str] = (), *, index: bool = True) -> Unpaired:
    """Return what changed between two sets of recorded sessions, from before and after a change of the agent.

    - `fail_if`: rules such as `cost > 10%`. Compactions take a number, all other figures take per cent.

    Raises CtxsimError if one of the two sets has too few sessions, or if a rule names a figure that can't be compared
    between unpaired sets, or another unit.
    """
    rules = parse_rules(fail_if, "figure", FIGURES, "cost > 10%   or   compactions > 1")
    for rule in rules:
        if rule.value and rule.percent == (rule.figure == BY_NUMBER):
            unit, right = ("a number", "") if rule.percent else ("per cent", "%")
            said = f"{rule.figure} {'<>'[rule.above]} {rule.value:g}{right}"
            raise CtxsimError(f"between recordings {rule.figure} changes by {unit}: write '{said}'")
    sides = [bill(one, days=None, index=index) for one in (before, after)]
    sessions = [cases(side.lines) for side in sides]
    found = differences(*sessions)
    if lacking := {rule.figure for rule in rules} - {one.figure for one in found}:
        raise CtxsimError(f"nothing for --fail-if to judge: too few sessions have {', '.join(sorted(lacking))}")
    broken = [one for one in found if one.changed and any(rule.broken_by(one.figure, one.effect) for rule in rules)]
    return Unpaired(found, broken, [line for side in sides for line in side.errors], *compared(*sessions))


def _extracted(sources: Sequence[Source], jobs: int | None) -> Iterator[tuple[Session, ...] | InputError]:
    if not sources:
        return
    # Imported only here, because sources in the index aren't read.
    from ctxsim.runs.processes import each, fitting

    yield from each(_extract, sources, fitting(sources, BYTES_EACH) if jobs is None else jobs)


def _extract(source: Source) -> tuple[Session, ...] | InputError:
    from ctxsim.answers.bill.extract import facts_of

    try:
        return tuple(map(facts_of, readers.read_source(source)))
    except InputError as error:
        return error


def forget() -> Path | None:
    """Remove the index of recordings. Return its file, or None if there was none."""
    place = indexes.place()
    known = place.exists()
    place.unlink(missing_ok=True)
    return place if known else None


def _memory(folder: Path) -> dict[str, int]:
    """Tokens of each memory file in a folder, by the default tokenizer."""
    from ctxsim.counting.tokenizers import DEFAULT, open_tokenizer

    if not folder.is_dir():
        raise InputError(folder, "is no folder")
    tokenizer = open_tokenizer(DEFAULT)
    found = {}
    for name in MEMORY_FILES:
        file = folder / name
        if file.is_file():
            try:
                found[name] = tokenizer.count_many([file.read_text(encoding="utf-8", errors="replace")])[0]
            except OSError as error:
                raise InputError(file, f"can't be read: {error.strerror or error}") from None
    return found
