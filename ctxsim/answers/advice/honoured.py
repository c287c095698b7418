"""Whether recorded compactions came at the size that the agent's setting says."""

from collections.abc import Sequence
from statistics import median

from ctxsim.errors import many
from ctxsim.results.run_info import Recorder

OFF = 0.05
"""Tolerance as a share of the threshold set: requests grow in steps, and the agent's estimate errs."""


def contradictions(recorders: Sequence[Recorder]) -> list[str]:
    """Return a line for each threshold that most of its recordings contradict, or any if no compaction is expected."""
    by_limit: dict[int | None, list[Recorder]] = {}
    for one in recorders:
        by_limit.setdefault(one.fires_at, []).append(one)
    return [f"Not as set: {line}." for limit, ones in by_limit.items() if (line := _line(limit, ones))]


def _line(limit: int | None, ones: Sequence[Recorder]) -> str:
    seen = [one.compacted_at for one in ones if one.compacted_at is not None]
    if limit is None:
        came = f"it came at {_k(median(seen))} tokens in {many(len(seen), 'transcript(s)')}" if seen else ""
        return came and f"no compaction expected before a refusal, but {came}"
    off = [at for at in seen if abs(at - limit) > OFF * limit]
    never = [one for one in ones if one.compacted_at is None and (one.peak or 0) > (1 + OFF) * limit]
    of = len(seen) + len(never)
    if 2 * (len(off) + len(never)) <= of:
        return ""
    came = f"{len(never)} of {of} transcripts grew larger without one"
    if len(off) >= len(never):
        came = f"it came at {_k(median(off))} in {len(off)} of {of} transcripts"
    return f"compaction expected at {_k(limit)} tokens, but {came}"


def _k(tokens: float) -> str:
    return f"{tokens / 1000:,.0f}K"
