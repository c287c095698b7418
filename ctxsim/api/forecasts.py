"""`forecast`: totals of the next sessions, with today's settings and under changes; tests of such forecasts."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Unpack

from ctxsim import readers
from ctxsim.answers.forecast import known_texts
from ctxsim.answers.forecast.backtest import HORIZONS, Tried, backtest
from ctxsim.answers.forecast.drift import last_change
from ctxsim.answers.forecast.forecast import Forecast
from ctxsim.answers.forecast.forecast import forecast as forecast_of
from ctxsim.answers.forecast.sessions import Sessions, parse_next, sessions_of
from ctxsim.api import AnyPath, Paths, Positive, checks_arguments, paths_of
from ctxsim.api.inputs import AnyPolicy
from ctxsim.api.runs import Run, bench
from ctxsim.readers.paths import FOUND
from ctxsim.results.frames import Frame
from ctxsim.results.run_info import NOTHING
from ctxsim.runs.conduct import Watch
from ctxsim.simulator.provider.resolve import said
from ctxsim.simulator.provider.rules import ProviderFields

SOME = 40
"""Past forecasts that are tested for the line on how often they held, at most."""


class Forecasts:
    """Forecasts of the next sessions with today's settings, and under each requested change."""

    def __init__(self, paths: Sequence[str], next_: str, runs: dict[str, tuple[Run, str]]) -> None:
        self.paths = paths
        self.ahead = parse_next(next_)
        self.run = next(iter(runs.values()))[0]
        """The run of the recordings as they are."""
        self.sessions: dict[str, Sessions] = {name: sessions_of(run, label) for name, (run, label) in runs.items()}
        self.recorded = next(iter(self.sessions.values()))
        """The sessions so far."""
        # All forecasts use the same sessions: those since the last change of the sessions as they are.
        change = last_change(self.recorded)
        self.all: dict[str, Forecast] = {
            name: forecast_of(sessions, name, self.ahead, change) for name, sessions in self.sessions.items()
        }
        self.today = next(iter(self.all.values()))
        """The forecast with today's settings."""

    @cached_property
    def tried(self) -> list[Tried]:
        """Every forecast of the next 5, 10 and 20 sessions, and of as many as are forecast now, that could have been
        made at an earlier session, compared with the outcome.
        """
        return list(backtest(self.recorded, sorted({*HORIZONS, self._many})))

    @cached_property
    def tried_alike(self) -> list[Tried]:
        """At most SOME earlier forecasts of as many sessions as are forecast now, compared with the outcome."""
        return list(backtest(self.recorded, (self._many,), SOME))

    @property
    def _many(self) -> int:
        return max(1, round(self.today.come.middle))

    @cached_property
    def told(self) -> list[tuple[known_texts.Told, known_texts.Told]]:
        """Each session predicted from its texts and the sessions before it, compared with the outcome; and predicted
        from the usage of its first call too.
        """
        return list(known_texts.told([one for path in self.paths for one in readers.read(path)]))

    def frame(self) -> Frame:
        """Return a row for each policy, amount and level: policy, amount, level, low, middle, high."""
        import pandas

        return pandas.concat(
            [one.frame().assign(policy=name) for name, one in self.all.items()], ignore_index=True
        )[["policy", "amount", "level", "low", "middle", "high"]]  # fmt: skip


@checks_arguments
def forecast(
    paths: Paths = (),
    next: str = "20",
    policies: Sequence[AnyPolicy] = (),
    *,
    jobs: Positive | None = 1,
    models: AnyPath | None = None,
    watch: Watch = Watch(),  # noqa: B008 - frozen
    **provider: Unpack[ProviderFields],
) -> Forecasts:
    """Forecast dollars, tokens, calls, compactions and refused calls of the next sessions.

    - `paths`: recordings of past sessions. Default: the agents' own folders.
    - `next`: a number of sessions, such as `20`, or of days, such as `7d`.
    - `models`: a TOML file of your own models and prices.
    - `policies`, `provider`: changes. Each policy adds a forecast. All fields of the provider are changed together, and
      add one forecast, and one more for each policy.

    Raises CtxsimError for an invalid `next`, or for days if most sessions have no time, and the errors of `bench`.
    """
    parse_next(next)
    asked = paths_of(paths) or [FOUND]
    # Keep-all replays a recording as it was: the agent's own compactions stay.
    labels: list[AnyPolicy] = [NOTHING, *policies]
    # No brackets and no refetching: a forecast is about what is sent and paid, not about what is kept.
    replayed = partial(bench, asked, labels, jobs=jobs, models=models, watch=watch, brackets=False, refetch=0.0)
    run = replayed()
    runs = {"as it is": (run, run.labels[0])}
    runs |= {label: (run, label) for label in run.labels[1:]}
    changed = said(dict(provider))
    if changed:
        other = replayed(**changed)
        rules = ", ".join(f"{key}={value}" for key, value in changed.items())
        runs |= {f"{'' if n == 0 else label + ', '}{rules}": (other, label) for n, label in enumerate(other.labels)}
    return Forecasts(asked, next, runs)
