"""`validate`, `estimates`, `calibrate`, `compactions` and `check`: tests of figures and of the user's own parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from ctxsim import readers
from ctxsim.answers.validation.accuracy import Accuracy, Consequence, Observed, consequence, observe, table
from ctxsim.answers.validation.unseen import Stretch, Unseen, predicted, stretches, unseen
from ctxsim.answers.validation.validation import Compared, Score, compare, score
from ctxsim.api import AnyPath, Positive, Risk, checks_arguments
from ctxsim.api.inputs import AnyEstimator, estimator_of
from ctxsim.counting.estimators import estimator_label, judged_estimators, open_estimator
from ctxsim.counting.estimators.contract import violations
from ctxsim.counting.tokenizers import OWN, open_tokenizer
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import agent_problems, is_file
from ctxsim.policies import open_policy
from ctxsim.readers.contract import examined
from ctxsim.results import read_run
from ctxsim.results.files import write_file
from ctxsim.results.frames import Frame, frame_of
from ctxsim.simulator.provider.rule_table import vendor_gaps
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from ctxsim.answers.compactions.study import Compactions
    from ctxsim.counting.estimators.calibrated import Calibration
    from ctxsim.recorded.sample import Sample

Recordings = AnyPath | Transcript | Iterable[AnyPath | Transcript]
"""A path, a transcript in hand, or several of them."""


def _transcripts(given: Recordings) -> Iterator[Transcript]:
    for one in [given] if isinstance(given, str | PathLike | Transcript) else given:
        if isinstance(one, Transcript):
            yield one
        else:
            yield from readers.read(str(one))


class Validation(msgspec.Struct, frozen=True):
    """Modelled figures compared with recorded ones.

    - `calls`: one row for each call. `scores`: by format and model.
    - `unseen`: errors of sizes that were predicted without the usage that they are compared with, the easiest
      prediction first.
    """

    calls: list[Compared]
    scores: list[Score]
    unseen: list[Unseen]

    def frame(self) -> Frame:
        """Return the scores, a row for each format and model."""
        return frame_of(self.scores, Score)


@checks_arguments
def validate(recordings: Recordings) -> Validation:
    """Compare modelled input tokens, cache reads and dollars with the recorded ones, per format and model.

    Raises InputError for a path that can't be read.
    """
    return validated(map(compared, _transcripts(recordings)))


def compared(transcript: Transcript) -> tuple[list[Compared], list[Stretch]]:
    """Return the part of a validation that one transcript gives."""
    return compare(transcript), list(stretches(transcript))


def validated(parts: Iterable[tuple[list[Compared], list[Stretch]]]) -> Validation:
    """Return the validation of all transcripts, given the part of each one by `compared`."""
    calls: list[Compared] = []
    segments: list[Stretch] = []
    for rows, found in parts:
        calls += rows
        segments += found
    guesses = predicted(segments)
    later: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in guesses:
        if one.way == "later calls":
            later[one.format, one.model].append(one.error)
    calls.sort(key=lambda call: (call.format, call.model, call.transcript, call.call))
    groups = groupby(calls, key=lambda call: (call.format, call.model))
    return Validation(calls, [score(list(group), later[key]) for key, group in groups], unseen(guesses))


class Estimates(msgspec.Struct, frozen=True):
    """Errors of estimators: `errors` per text and request, `consequences` for a policy with a threshold."""

    errors: list[Accuracy]
    consequences: list[Consequence]
    observed: Observed
    """Every text and request, with the estimate of each estimator."""

    def frame(self) -> Frame:
        """Return the errors, a row for each estimator and kind of text or request."""
        return frame_of(self.errors)


@checks_arguments
def estimates(
    recordings: Recordings,
    estimators: Sequence[AnyEstimator] | None = None,
    *,
    tokenizer: str | None = None,
    threshold: Positive | None = None,
) -> Estimates:
    """Compare estimators with a real tokenizer and recorded usage, and return how their errors affect a policy.

    - `estimators`: labels, classes or objects. Default: every kind of estimator, with the parameters in `ctxsim list
      estimators`.
    - `tokenizer`: its counts are the real ones. Default: each model's own tokenizer or stand-in, else o200k_base.
    - `threshold`: the tokens at which the policy acts. Default: 70 % of each segment's largest request.

    Raises CtxsimError if no call has any input.
    """
    judged = [made for one in estimators or judged_estimators() if (made := estimator_of(one))]
    found = observe(_transcripts(recordings), open_tokenizer(tokenizer) if tokenizer else None, judged)
    if not any(one.tokens for one in found.requests):
        raise CtxsimError("no call in these transcripts has any input")
    consequences = [
        consequence(found, number, estimator_label(one), tokenizer or OWN, threshold)
        for number, one in enumerate(judged)
    ]
    return Estimates(table(found, tokenizer or OWN, judged), consequences, found)


class Fit(msgspec.Struct, frozen=True):
    """A calibration, and the sample that it was fitted to."""

    calibration: Calibration
    sample: Sample

    def frame(self) -> Frame:
        """Return characters per token overall and by group, with 95 % intervals over transcripts."""
        found = [("all", self.calibration.overall), *self.calibration.groups.items()]
        return frame_of({"group": name, **msgspec.structs.asdict(ratio)} for name, ratio in found)

    def points(self) -> list[tuple[int, int, str]]:
        """Return (characters, tokens, group) of texts; if heads were fitted, of recorded requests without heads."""
        if not self.calibration.heads:
            return [(text.chars, round(text.tokens), text.group) for text in self.sample.texts]
        from ctxsim.answers.calibration.calibration import recorded_prompts
        from ctxsim.recorded.chars_fit import holds_its_texts

        return [
            (prompt.chars, round(prompt.tokens), series.model)
            for series in filter(holds_its_texts, self.sample.series)
            for prompt in recorded_prompts([series], 1 / self.calibration.overall.chars_per_token)
        ]

    def save(self, path: AnyPath) -> Path:
        """Write the calibration file, for `estimator=calibrated:file=...`, and return its path."""
        return write_file(Path(path), msgspec.json.format(msgspec.json.encode(self.calibration), indent=2) + b"\n")


@checks_arguments
def calibrate(
    recordings: Recordings,
    *,
    tokenizer: str | None = None,
    by: Literal["kind", "tool", "model"] = "tool",
    risk: Risk | None = None,
    against_usage: bool = False,
) -> Fit:
    """Fit the number of characters per token on recordings. The reference is a tokenizer's counts or recorded usage.

    - `tokenizer`: the fit uses its counts. Default: each model's own tokenizer or stand-in, else o200k_base.
    - `risk`: the highest permitted chance that the fitted divisor under-estimates a request near the window.

    Raises CtxsimError if there is no text, or no usage.
    """
    # Imported here, as no other function of this file needs it.
    from ctxsim.answers.calibration.calibration import calibrate as fitted
    from ctxsim.recorded.sample import collect

    sample = collect(_transcripts(recordings), open_tokenizer(tokenizer) if tokenizer else None, by)
    return Fit(fitted(sample, tokenizer or OWN, by, risk, against_usage), sample)


@checks_arguments
def compactions(recordings: Recordings, *, beside: bool = True) -> Compactions:
    """Return what recorded compactions kept and lost, and what had to be fetched again.

    - `beside`: also return what policies would have kept.

    Raises InputError for a path that can't be read.
    """
    # Imported here, as no other function of this file needs it.
    from ctxsim.answers.compactions.study import Compactions
    from ctxsim.answers.compactions.study import score as compaction_score

    found = Compactions()
    for transcript in _transcripts(recordings):
        found.add(compaction_score(transcript, beside=beside))
    return found


Kind = Literal["policy", "estimator", "reader", "agent", "vendor", "run"]
KINDS: tuple[str, ...] = get_args(Kind)

ESTIMATED = ("documented-53k", "small-results", "text-only")
"""The scenarios that an estimator is checked on by default."""


class Checked(msgspec.Struct, frozen=True):
    """Whether a policy, estimator, reader, agent, vendor or run keeps its contract.

    - `violations`: what breaks the contract. `findings`: what else the user should know.
    """

    target: str
    violations: tuple[str, ...]
    findings: tuple[str, ...] = ()
    append_only: str = ""
    """For a policy, a text on whether its requests only ever grow at the end. Current models bind thinking to that."""

    @property
    def ok(self) -> bool:
        """Whether nothing breaks the contract."""
        return not self.violations

    def frame(self) -> Frame:
        """Return a row for each violation and finding."""
        return frame_of(({"what": what, "line": line} for what, line in self.lines()), ("what", "line"))

    def lines(self) -> list[tuple[str, str]]:
        """Return each line with its kind, "violation" or "finding"."""
        return [("violation", line) for line in self.violations] + [("finding", line) for line in self.findings]


@checks_arguments
def check(kind: Kind, target: AnyPath, *on: AnyPath, again: bool = False, learn: bool = False) -> Checked:
    """Check whether a policy, estimator, reader, agent, vendor or run keeps its contract.

    - `target`: a label, a name, a file or a folder.
    - `on`: scenarios for a policy or an estimator, and recordings for a reader.
    - `again`: replay a run and compare the new tables with the stored ones. `on` then names the recordings, if they
      have moved.
    - `learn`: write what the check found out about an agent into the TOML file that describes this agent to ctxsim.

    Raises CtxsimError if the target can't be opened.
    """
    target, paths = str(target), tuple(map(str, on))
    if kind == "policy":
        from ctxsim.runs.check import check as checked

        one = checked(target, scenarios=paths)
        return Checked(open_policy(target).label, tuple(one.violations), tuple(one.findings), one.append_only)
    if kind == "estimator":
        transcripts = [synthesize(load_scenario(name)) for name in paths or ESTIMATED]
        broken = violations(lambda: open_estimator(target), transcripts)
        return Checked(estimator_label(open_estimator(target)), tuple(dict.fromkeys(broken)))
    if kind == "reader":
        violated, known = examined(target, paths)
        return Checked(target, tuple(violated), tuple(known))
    if kind == "agent":
        problems = tuple(agent_problems(target))
        if problems or not is_file(target):
            return Checked(target, problems)
        from ctxsim.api.live import tried

        return Checked(target, *tried(target, learn))
    if kind == "vendor":
        load_vendor(target)
        return Checked(target, (), tuple(vendor_gaps(target)))
    from ctxsim.runs.rerun import made_again

    run = read_run(target)
    return Checked(target, (*run.problems(), *(made_again(run, paths) if again else ())), run.caveats)
