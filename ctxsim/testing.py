"""Assertions about a run, for tests of an agent's context policy. A failure is one line: the policy and what broke."""

from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.advice.settings import label_in
from ctxsim.results import Run


def no_refused_call(run: Run, policy: str) -> None:
    """Assert that the provider refused no call under a policy, in any transcript.

    Raises AssertionError with the first refusal, and UnknownName for a policy that isn't in the run.
    """
    figures = _figures(run, policy)
    if not figures.refused:
        return
    rows = run.table("summary", policy=[label_in(run, policy)])
    failed = rows[rows.first_failure.notna()]
    first = failed.iloc[0] if len(failed) else None
    why = f"; the first: {first.transcript}, {first.first_failure}" if first is not None else ""
    raise AssertionError(f"{policy}: {figures.refused} of {figures.calls} calls refused{why}")


def cost_not_over(run: Run, policy: str, *, usd: float | None = None, share: float | None = None) -> None:
    """Assert that a policy costs at most `usd` dollars, or at most this `share` of keep-all's dollars.

    Both are sums over all transcripts; `share` counts only transcripts with known prices. Raises AssertionError if it
    costs more, if no price is known, or for `usd` if any price is unknown.
    """
    figures = _figures(run, policy)
    if usd is None and share is None:
        raise TypeError("cost_not_over needs usd=... or share=...")
    known = run.of(figures.policy).cost_usd.notna()
    if not known.any():
        raise AssertionError(f"{policy}: no prices are known of these transcripts; give a model or prices")
    if usd is not None and not known.all():
        some = f"{known.sum():,} of {figures.transcripts:,}"
        raise AssertionError(
            f"{policy}: prices are known of only {some} transcripts; give a model or prices, or share="
        )
    # Nothing is a share of a free model's bill.
    paid = figures.usd or 0.0
    if usd is not None and paid > usd:
        raise AssertionError(f"{policy}: costs {paid:.6g} USD, more than {usd:.6g}")
    if share is not None and figures.usd_share and figures.usd_share.value > share:
        costs = f"{figures.usd_share.value:.2%} of keep-all's dollars"
        raise AssertionError(f"{policy}: costs {costs}, more than {share:.2%}")


def kept_not_under(run: Run, policy: str, share: float) -> None:
    """Assert that a policy keeps at least this share of what later calls used of old results.

    For a policy that summarizes, the lower end of the range counts: what a real model's summary keeps is unknown. If no
    call needed an old result, the assertion holds. Raises AssertionError if the policy keeps less.
    """
    if not 0 <= share <= 1:
        raise AssertionError(f"share={share:g}: it is a share, from 0 to 1")
    figures = _figures(run, policy)
    kept = figures.kept_low if figures.kept_low is not None else figures.kept.value if figures.kept else None
    if kept is not None and kept < share:
        raise AssertionError(f"{policy}: keeps {kept:.2%} of what later calls used, less than {share:.2%}")


def _figures(run: Run, policy: str) -> Figures:
    """The figures of a policy, named by its label in the run or by a shorter form of that label."""
    return figures_of(run).figures(label_in(run, policy))
