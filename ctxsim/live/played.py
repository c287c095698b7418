"""Which conversation is played: a scenario's, or a recorded one, each with the provider whose rules hold."""

from __future__ import annotations

from itertools import islice

from ctxsim.errors import CtxsimError
from ctxsim.readers import read
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.transcript import Transcript

NEEDS = "the endpoint needs two more packages: pip install 'ctxsim[serve]'"


def played(
    scenario: str | None, path: str | None, number: int, overrides: dict[str, object]
) -> tuple[Transcript, Provider]:
    """Return the conversation that is to be played and its provider. Raises CtxsimError if it isn't exactly one."""
    if (scenario is None) == (path is None):
        raise CtxsimError("say what to play: --scenario NAME or --transcript FILE")
    if scenario is not None:
        found = load_scenario(scenario)
        return synthesize(found), resolve(overrides, (found.name, found.provider))
    chosen = next(islice(read(str(path)), number - 1, None), None)
    if chosen is None:
        raise CtxsimError(f"{path} has fewer than {number} transcripts")
    return chosen, resolve(overrides, None, chosen)
