"""`ctxsim forecast`: dollars, tokens, calls and compactions of the next sessions."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ctxsim.answers.advice.setting_names import title_of
from ctxsim.answers.forecast import known_texts
from ctxsim.answers.forecast.backtest import Tried
from ctxsim.answers.forecast.forecast import LEVELS, Amount, Forecast
from ctxsim.api import project
from ctxsim.api.forecasts import Forecasts, forecast
from ctxsim.cli import options
from ctxsim.cli.loudness import stage
from ctxsim.cli.output import tell_what_was_left_out, tell_written
from ctxsim.cli.progress import progress
from ctxsim.cli.show import show, tell_lines
from ctxsim.cli.terminal import say
from ctxsim.errors import CtxsimError, agreed, many
from ctxsim.report.sheet import Cell, Column, Sheet, sheet_of
from ctxsim.report.style import day
from ctxsim.results.files import PICTURES, refuse_other
from ctxsim.runs.conduct import Watch

UNITS = {"usd": "USD", "tokens": "tokens", "calls": "call(s)", "compactions": "compaction(s)"}


@click.command("forecast")
@options.paths
@click.option("--next", default="20", metavar="N|Nd", help="Forecast the next N sessions, or with Nd the sessions of "
              "the next N days. Default: 20.")  # fmt: skip
@options.policies("Also forecast under this policy.")
@options.model
@options.provider
@options.flag("--backtest", "Say how often earlier forecasts from the sessions under PATHS would have held.", "tried")
@options.form
@options.out(
    "Write a picture to this file: the dollars so far, added up, and the forecast under today's settings. With "
    "--backtest, the picture shows how often the ranges held."
)
@options.jobs("The results stay")
def command(
    paths: tuple[str, ...], policies: tuple[str, ...], tried: bool, form: str, out: Path | None, **said: Any
) -> None:
    """Forecast the dollars, tokens, calls and compactions of the next sessions from those under PATHS.

    Without PATHS, reads the sessions that agents keep on this machine. With --policy, --model or --provider there is
    also a forecast under that change. docs/forecast.md says how forecasts are made, and how well they hold.
    """
    refuse_other(out, PICTURES)
    asked = paths or project.found().paths
    with stage("replayed"), progress("sessions") as course:
        watch = Watch(course.finished, course.within)
        found = forecast(asked, policies=policies, watch=watch, **options.fields(said))
    sheets = _backtests(found) if tried else [_table(found)]
    if form == "table":
        tell_lines(_lines(found))
        say()
    if tried and not found.tried:
        say("No forecast of several sessions could be tested: these sessions are too few.", err=form != "table")
    show("forecast", sheets, form, forecasts=msgspec.to_builtins(found.all))
    if out is not None:
        from ctxsim.report.usd_plots import plot_calibration, plot_forecast

        if tried and not found.tried:
            raise CtxsimError(f"{out}: not drawn: too few sessions to test a forecast on")
        if tried:
            written = plot_calibration(out, found.tried)
        else:
            # The headline and its basis; the second line, with the other amounts, is left out.
            answer, _, *ground = _lines(found)
            ground += ["The picture shows the forecast without a change."] if len(found.all) > 1 else []
            written = plot_forecast(out, found.recorded, found.today, answer, " ".join(ground))
        tell_written([written], form)
    if tell_what_was_left_out(found.run.info):
        sys.exit(1)


KINDS = {
    "sessions": "90 %",
    "far": "a 90 % range, widened because it is for more than half as many sessions as were seen",
    "priors": "a range from other projects, as the sessions seen are too few",
}  # fmt: skip


def _lines(found: Forecasts) -> list[str]:
    """The answer: the amounts, how often such forecasts held, and from when on sessions count."""
    today = found.today
    main = "usd" if "usd" in today.amounts else "tokens"
    sessions = agreed(f", {_range(today.come, '90')} session(s) at your pace") if today.ahead.days else ""
    lines = [f"Next {today.ahead}{sessions}: {_range(today.amounts[main], '90', main)} ({KINDS[today.basis]})."]
    others = [f"{_range(one, '90', name)}" for name, one in today.amounts.items() if name not in (main, "refused")]
    refused = today.amounts["refused"].ranges["90"][1]
    lines.append(f"{'; '.join(others)}; {'no request refused' if refused <= 0.5 else f'up to {refused:,.0f} refused'}.")
    if main == "usd" and today.priced < today.known:
        lines.append(
            f"Prices are known for {today.priced:,} of {today.known:,} sessions: what the others cost is missing."
        )
    if today.untimed:
        lines.append(f"Not in the forecast: {many(today.untimed, 'session(s)')} without a start time.")
    if (beside := sum(one.beside_usd for one in found.run.info.recorders or ())) >= 0.005:
        lines.append(f"Not in the forecast: responses outside the conversations, which cost {beside:,.2f} USD so far.")
    held = [] if today.basis == "priors" else [one for one in found.tried_alike if one.level == 90]
    share = f"; {sum(one.held for one in held):,} of {len(held):,} earlier forecasts like this one held " \
            "(--backtest shows all)" if held else ""  # fmt: skip
    lines.append(f"From {many(today.seen, 'session(s)')}{share}.")
    if today.change is not None:
        since = found.recorded.started[today.change.at]
        assert since is not None  # sessions without times have no order, and no change
        what = f"{today.change.what} is used {'more' if today.change.more else 'less'} than before"
        what = "sessions are of another size" if today.change.what == "size" else what
        counts = f"the forecast goes by the {today.seen:,} sessions from then on" if today.change.cuts else \
                 "no change of their size or of a token's price was found, so all sessions count"  # fmt: skip
        lines.append(f"Since {day(since)} {what}: {counts}.")
        if today.change.cuts and (gone := _agents_before(found, today.change.at)):
            lines.append(f"All sessions of {' and '.join(gone)} are before it. To forecast one agent, give its folder.")
    return lines


def _agents_before(found: Forecasts, at: int) -> list[str]:
    """The names of the agents that have sessions before a change but none after it."""
    by = {one.transcript: title_of(one.agent) for one in found.run.info.recorders or ()}
    agents = [by.get(name, "") for name in found.recorded.names]
    return sorted({*agents[:at]} - {*agents[at:], ""})


def _range(amount: Amount, level: str, name: str = "") -> str:
    return agreed(f"{' to '.join(_ends(amount, level, name))} {UNITS.get(name, '')}".strip())


def _ends(amount: Amount, level: str, name: str) -> Iterable[str]:
    """Both ends of a range as texts, or one text if they are equal."""
    return dict.fromkeys(_number(value, name) for value in amount.ranges[level])


def _number(value: float, name: str) -> str:
    if name == "tokens" and value >= 1e5:
        return f"{value / 1e6:,.1f} M"
    return f"{value:,.2f}" if name == "usd" and value < 10 else f"{value:,.0f}"


def _table(found: Forecasts) -> Sheet:
    """Each policy's amounts: the middle, and the ranges of dollars, or of tokens, at every level."""
    main = "usd" if "usd" in found.today.amounts else "tokens"

    def span(level: str, name: str = main) -> Callable[[tuple[str, Forecast]], Cell]:
        return lambda pair: _span(pair[1].amounts[name], level, name)

    *inner, last = [f"{round(100 * one)}" for one in LEVELS]
    columns = [
        Column("policy", "under", "which policy, or which change of the rules", left=True, of=lambda pair: pair[0]),
        Column("middle", UNITS[main], "the median of the simulated totals", form=lambda value: _number(value, main),
               of=lambda pair: pair[1].amounts[main].middle),
        *(Column(f"level_{one}", f"{one} %", of=span(one)) for one in inner),
        Column(f"level_{last}", f"{last} %", "range with this probability", of=span(last)),
        Column("compactions", "compactions", "times that messages left the conversation, 90 % range",
               of=span("90", "compactions")),
        Column("refused", "refused", "refused calls, 90 % range", rank=1, of=span("90", "refused")),
    ]  # fmt: skip
    return sheet_of("forecast", f"The next {found.ahead}", columns, found.all.items())


def _span(amount: Amount, level: str, name: str) -> Cell:
    low, high = amount.ranges[level]
    return Cell({"low": low, "high": high}, "-".join(_ends(amount, level, name)))


def _mean(name: str) -> Callable[[Sequence[Tried]], float]:
    return lambda group: sum(getattr(one, name) for one in group) / len(group)


def _width(group: Sequence[Tried]) -> float:
    return sorted(one.high / one.low if one.low else float("inf") for one in group)[len(group) // 2]


BACKTEST = (
    Column("ahead", "next", "sessions forecast", of=lambda group: group[0].ahead),
    Column("level", "level", "of the range", of=lambda group: group[0].level, form="{} %"),
    Column("forecasts", "forecasts", "made so far", of=len),
    Column("held", "held", "share of the ranges that held the real value", of=_mean("held"), form="{:.0%}"),
    Column("width", "width", "upper end divided by lower end, median", of=_width, form="x {:.2f}"),
    Column("score", "score", "interval score as a share of the mean; smaller is better", of=_mean("score"),
           form="{:.2f}"),
    Column("plain_held", "plain held", "the same of a plain bootstrap", rank=1, of=_mean("plain_held"), form="{:.0%}"),
    Column("plain_score", "plain score", "the same of a plain bootstrap", rank=1, of=_mean("plain"), form="{:.2f}"),
)  # fmt: skip
"""The columns of earlier forecasts, of which each row has those with one number of sessions and one level."""

KNOWN_TEXTS = (
    Column("amount", "amount", "of one transcript", of=lambda one: UNITS[one.amount]),
    *(msgspec.structs.replace(column, of="") for column in BACKTEST[2:5]),
)


def _backtests(found: Forecasts) -> list[Sheet]:
    """How often ranges held: of forecasts that know nothing of the sessions, their texts, or their first call too."""
    groups: dict[tuple[int, int], list[Tried]] = {}
    for one in found.tried:
        groups.setdefault((one.ahead, one.level), []).append(one)
    sheets = [sheet_of("backtest", "Forecasts that know nothing of the next sessions", BACKTEST, groups.values())]
    known = {
        "texts": "Forecasts that know the next session's texts, 90 %",
        "first_call": "Forecasts that know its texts and its first call, 90 %",
    }
    for number, (name, title) in enumerate(known.items()):
        sessions = [both[number] for both in found.told]
        counts = known_texts.compactions(sessions)
        notes = (
            f"Of {many(counts.sessions, 'transcript(s)')}, sub-agents' included, a compaction came in {counts.came:,}, "
            f"was forecast in {counts.told:,}, and both in {counts.both:,}.",
        ) if counts else ()  # fmt: skip
        sheets.append(sheet_of(name, title, KNOWN_TEXTS, known_texts.held(sessions), notes=notes))
    return [one for one in sheets if one.rows]
