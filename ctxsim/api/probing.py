"""`check setting`: what an installed agent does with a setting, run offline; and since which version it does so."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import msgspec

from ctxsim.api import Count, checks_arguments
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import load_agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.install import located, published
from ctxsim.live.probe.check import SettingCheck, alike, bisected
from ctxsim.live.probe.check import check_setting as checked
from ctxsim.policies.agents.given import known_setting
from ctxsim.results.frames import Frame, frame_of


class SettingChecks(msgspec.Struct, frozen=True):
    """Checks of one setting, one for each version that was run, ascending."""

    checks: tuple[SettingCheck, ...]

    @property
    def changes(self) -> list[tuple[SettingCheck, SettingCheck]]:
        """The pairs of neighbouring versions that act differently: the last before a change, and the first after it."""
        return [(a, b) for a, b in pairwise(self.checks) if not alike(a, b)]

    def frame(self) -> Frame:
        """Return a row for each version."""
        return frame_of(self.checks, SettingCheck)


@checks_arguments
def check_setting(
    agent: str,
    settings: Mapping[str, Value],
    *,
    version: str = "",
    model: str = "",
    window: Count = 0,
    install: bool = False,
) -> SettingCheck:
    """Run an installed agent with some settings, and return whether it honours the first of them.

    - `version`, `model`: by default the pinned version, and the model that is usually tested with it.
    - `window`: the model's window in tokens. `install`: install the version into a cache folder.

    The settings are written into a temporary home, in the agent's own format. The agent runs against a mock endpoint,
    without any network. Raises CtxsimError for an unknown setting, and if the agent is missing or can't be run.
    """
    wanted = load_agent(agent, version)
    if not settings:
        raise CtxsimError("settings={}: name at least one; ctxsim list settings has all")
    for key in settings:
        known_setting(agent, key)
    known, programs = located(wanted, install)
    if version and known.version != version:
        raise CtxsimError(f"{agent} {version} isn't there, {known.version or 'another'} is on the path; add --install")
    return checked(known, programs, settings, model, window)


@checks_arguments
def bisect_setting(
    agent: str,
    settings: Mapping[str, Value],
    first: str,
    last: str,
    *,
    model: str = "",
    window: Count = 0,
    told: Callable[[SettingCheck], object] = lambda check: None,
) -> SettingChecks:
    """Find where, between two versions, an agent began to act differently. Return the checks that were needed.

    Each version to check is installed into a cache folder. `told` is called with each check. Raises the errors of
    `check_setting`.
    """

    def check(version: str) -> SettingCheck:
        found = check_setting(agent, settings, version=version, model=model, window=window, install=True)
        told(found)
        return found

    return SettingChecks(tuple(bisected(published(load_agent(agent), first, last), check)))
