"""Which policy of a run a label means, as somebody types it or pastes it from a table."""

from contextlib import suppress

from ctxsim.errors import LabelError, UnknownName
from ctxsim.labels import pasted
from ctxsim.policies import open_policy
from ctxsim.results import Run


def label_in(run: Run, given: str) -> str:
    """Return the label that a run has for a policy: given whole, as tables show it, or as any that opens the same.

    Raises UnknownName for a policy that the run hasn't, and CtxsimError for one that failed on some transcripts.
    """
    label = pasted(given)
    label = next((whole for whole, short in run.info.shown.items() if short == label), label)
    if label not in (*run.labels, *run.partial):
        # What can't be opened, as the label of a real agent, may only be one that the run has.
        with suppress(LabelError, UnknownName):
            label = open_policy(label).label
    return run.label(label)
