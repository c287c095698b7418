"""The report of kept against recalled: confusion, precision, recall, and figures by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ctxsim.answers.advice.intervals import bootstrap_mean
from evidence.recall.rows import Confusion, Predicted, confusion

LEGEND = (
    "present: the request that asked held the expected answer; right: the model gave it. precision: right of present;\n"
    "recall: present of right; 95 % intervals by session. Present is no more than a condition."
)


def recall_lines(found: Sequence[Predicted], crossed: int) -> Iterator[str]:
    """Yield the lines of a block for each condition, with up to `crossed` answers that were predicted wrongly."""
    for condition, group in groupby(sorted(found, key=lambda one: one.condition), key=lambda one: one.condition):
        members = list(group)
        counts = confusion(members)
        yield f"{condition}: {counts.answers:,} answers in {len({one.root for one in members}):,} sessions"
        yield f"  {'':<10} {'right':>7} {'wrong':>7}"
        yield f"  {'present':<10} {counts.present_right:>7,} {counts.present_wrong:>7,}"
        yield f"  {'absent':<10} {counts.absent_right:>7,} {counts.absent_wrong:>7,}"
        yield f"  predicted {_share(counts.present, counts.answers)}, graded {_share(counts.right, counts.answers)}"
        present, right = [one for one in members if one.present], [one for one in members if one.correct]
        yield f"  precision {_interval(present, 'correct')}, recall {_interval(right, 'present')}"
        yield from _by_group(members, counts)
        wrong = [one for one in members if one.present != one.correct]
        for one in wrong[:crossed]:
            said = "present, not given" if one.present else "absent, given all the same"
            yield f"  {said}: {one.question}: {one.expected!r}, answered {one.answer!r}"
        if len(wrong) > crossed:
            yield f"  ... and {len(wrong) - crossed} more predicted wrongly"


def _by_group(members: Sequence[Predicted], counts: Confusion) -> Iterator[str]:
    for name in sorted({name for one in members for name in one.groups}):
        values = sorted({one.groups[name] for one in members if name in one.groups}, key=_natural)
        # A column with hardly more than one answer per value holds names, not groups.
        if len(values) > 1 and len(values) * 2 <= counts.answers:
            yield f"  by {name}: predicted, graded"
            for value in values:
                part = confusion(one for one in members if one.groups.get(name) == value)
                shares = f"{part.present / part.answers:>7.1%} {part.right / part.answers:>7.1%}"
                yield f"    {value:<24} {shares}  of {part.answers:,}"


def _natural(value: str) -> tuple[bool, float, str]:
    return (False, float(value), "") if value.isdecimal() else (True, 0.0, value)


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.1%})"


def _interval(members: Sequence[Predicted], field: str) -> str:
    values = [float(getattr(one, field)) for one in members]
    if not values:
        return "unknown: none"
    misses = len(values) - int(sum(values))
    if not misses:
        # Resampling values without a miss would claim certainty.
        return f"100 % (no miss in {len(values):,})"
    interval = bootstrap_mean(values, [one.root for one in members])
    mean = sum(values) / len(values)
    return f"{mean:.1%} ({interval[1]:.1%}..{interval[2]:.1%})" if interval else f"{mean:.1%}"
