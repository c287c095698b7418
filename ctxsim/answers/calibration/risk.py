"""The risk of a divisor: how often characters divided by it underestimate the tokens of a request near the window."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ctxsim.errors import CtxsimError
from ctxsim.recorded.resampled import by_session
from ctxsim.recorded.sample import Sized

NEAR_WINDOW = 0.5
"""A risk is about requests of at least this share of a transcript's largest one: small ones can't overflow."""


def divisor_at_risk(prompts: Sequence[Sized], risk: float, projects: Sequence[int] = ()) -> float:
    """Return the divisor that underestimates any request near the window of a new transcript with a probability of at
    most `risk`. `projects` has each transcript's project, by number: then the new transcript is of a new project.

    Split-conformal, by groups (R. Dunn, L. Wasserman, A. Ramdas: Distribution-free prediction sets for two-layer
    hierarchical models, 2023): every project has weight one, divided among its transcripts. Of n projects, the smallest
    ratios of a total weight of at most risk * (n + 1) - 1 may lie below the divisor. If that is negative, there are too
    few projects for the risk, and the divisor is the smallest ratio. Raises CtxsimError without any request.
    """
    smallest: dict[int, float] = {}
    for prompt in _near_window(prompts):
        # chars / divisor < tokens (an underestimate) if and only if chars / tokens < divisor.
        ratio = prompt.chars / prompt.tokens
        smallest[prompt.transcript] = min(smallest.get(prompt.transcript, math.inf), ratio)
    if not smallest:
        raise CtxsimError("no request to take a risk with: the transcripts have no calls")
    of = {transcript: projects[transcript] if projects else transcript for transcript in smallest}
    sizes = Counter(of.values())
    left = risk * (len(sizes) + 1) - 1
    chosen, below = 0.0, 0.0
    for ratio, transcript in sorted((ratio, transcript) for transcript, ratio in smallest.items()):
        if chosen and below > left + 1e-9:
            break
        chosen, below = ratio, below + 1 / sizes[of[transcript]]
    # Rounded down, and past rounding errors: equality must not count as an under-estimate.
    return math.floor(chosen * 1e4 - 1e-6) / 1e4


def _near_window(prompts: Sequence[Sized]) -> Iterator[Sized]:
    largest: dict[int, float] = {}
    for prompt in prompts:
        largest[prompt.transcript] = max(largest.get(prompt.transcript, 0.0), prompt.tokens)
    return (one for one in prompts if one.tokens > 0 and one.tokens >= NEAR_WINDOW * largest[one.transcript])


def unsafe(votes: Sequence[tuple[int, bool]]) -> tuple[float, float] | tuple[None, None]:
    """Return how often a divisor underestimates, given pairs of (transcript, underestimated): the share of requests
    near the window, mean over transcripts, and the share of transcripts with such a request; None without any pair.
    """
    if not votes:
        return None, None
    transcripts, under = zip(*votes, strict=True)
    number, of = by_session(transcripts, under, np.ones(len(under)))
    shares = number / of
    return round(float(shares.mean()), 4), round(float((shares > 0).mean()), 4)


def votes(prompts: Sequence[Sized], divisor: float) -> list[tuple[int, bool]]:
    """Return, for each request near the window, its transcript and whether the divisor underestimates it."""
    return [(one.transcript, one.chars / divisor < one.tokens) for one in _near_window(prompts)]
