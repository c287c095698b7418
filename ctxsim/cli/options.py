"""Options that several commands have: written once, so that they mean the same everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import click
import msgspec

from ctxsim.answers.advice.advice import GOALS
from ctxsim.cli import completion
from ctxsim.report.sheet import FORMS
from ctxsim.simulator.provider.rules import ProviderFields
from ctxsim.simulator.provider.vendor import Binding

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)

paths = click.argument("paths", nargs=-1)
"""Transcripts: files, folders, - for standard input; none is fine."""

some_paths = click.argument("paths", nargs=-1, required=True)

run_folder = click.argument("run", type=PATH, metavar="RUN", shell_complete=completion.runs)
"""A folder that bench wrote."""

scenario = click.option(
    "--scenario",
    metavar="NAME",
    shell_complete=completion.scenarios,
    help="Play the conversation of this scenario. See: ctxsim list scenarios",
)
number = click.option(
    "--number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Take transcript number N of the input. Default: the first.",
)
estimator = click.option(
    "--estimator",
    metavar="LABEL",
    help="Let policies estimate tokens with this estimator, unless a policy's label names another.",
)
tokenizer = click.option(
    "--tokenizer", metavar="NAME", help="Count tokens with this tokenizer. See: ctxsim list tokenizers"
)
model = click.option(
    "--model", metavar="ID", shell_complete=completion.models,
    help="Use the window, prices, cache rules and tokenizer of this model.",
)  # fmt: skip
MOST_TOKENS = 10**12
"""Of any number of tokens that is typed."""

window = click.option(
    "--window", type=click.IntRange(1, MOST_TOKENS), metavar="N", help="Set the provider's context window to N tokens."
)
cache = click.option(
    "--cache",
    metavar="VENDOR",
    help="Apply the cache rules of this vendor, or of this file. `none` bills without a cache.",
)
thinking = click.option(
    "--thinking", type=click.Choice(get_args(Binding)),
    help="Set what the provider does if a policy changed messages before a thinking block: accept the request (none), "
    "leave out the thinking (drop), or refuse the request (refuse). Default: the model's rule.",
)  # fmt: skip
TTL = {"5m": False, "1h": True, "recorded": None}
cache_ttl = click.option(
    "--cache-ttl", "long_cache", type=click.Choice(tuple(TTL)), default="recorded",
    callback=lambda context, option, said: TTL[said],
    help="Set how long the cache keeps what was written to it. Default: as the log states.",
)  # fmt: skip
models_file = click.option(
    "--models", "models", type=PATH, metavar="FILE", help="Read your own models and their prices from this file."
)


def out(what: str) -> Callable[[Command], Command]:
    """Give a command `--out`; `what` says what is written, and where without it."""
    return click.option("--out", type=PATH, metavar="PATH", help=what)


form = click.option(
    "--format", "form", type=click.Choice(FORMS), default="table", help="Print the result in this form."
)
goal = click.option(
    "--goal",
    type=click.Choice(GOALS),
    default="dollars",
    help="Choose what the advice aims at: fewest dollars, most kept, fewest tokens, or least of the window used.",
)


def _chosen(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...] | None:
    """The columns that are named, `*` for all. One that isn't there is told before anything runs."""
    if not given or given == "all":
        return ("*",) if given else None
    from ctxsim.report.cells import chosen_columns

    return chosen_columns(given)


columns = click.option(
    "--columns", metavar="A,B|all", callback=_chosen, shell_complete=completion.columns,
    help="Print only these columns, or all of them. See: ctxsim list columns",
)  # fmt: skip


class _Rule(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`FIELD=VALUE` of the provider's fields, as a pair with the value's own type."""

    name = "rule"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        field, equals, text = str(value).partition("=")
        known = get_type_hints(ProviderFields)
        if not equals or field not in known:
            self.fail(f"'{value}' is not FIELD=VALUE; fields: {', '.join(known)}", param, context)
        try:
            plain: Any = msgspec.json.decode(text) if text[:1] in "{[" and text else text
            return field, msgspec.convert(plain, known[field], strict=False)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            words = ", ".join(_words(known[field]))
            self.fail(f"{field}={text}: {f'expected {words}' if words else error}", param, context)


def _words(kind: Any) -> list[str]:
    """The texts that a type allows, where it names them."""
    return [word for one in get_args(kind) for word in ([one] if isinstance(one, str) else _words(one))]


provider = click.option(
    "--provider", "rules", type=_Rule(), multiple=True, metavar="FIELD=VALUE",
    help="Set one field of the mock provider, for example reserved_output=8192 or misses=expected. May be repeated. "
    "A wrong FIELD lists all fields.",
)  # fmt: skip


class _HeadSize(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`fitted`, `none`, or a number of tokens."""

    name = "head"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        if value in ("fitted", "none") or isinstance(value, int):
            return value
        if str(value).isdecimal() and int(value) <= MOST_TOKENS:
            return int(value)
        self.fail(f"'{value}' is none of: fitted, none, a number of tokens up to 10^12", param, context)


head = click.option(
    "--head", type=_HeadSize(), default="fitted", metavar="fitted|none|TOKENS",
    help="Set the size of the system prompt and tools where the log lacks them: fitted to recorded usage, none, or "
    "this number of tokens.",
)  # fmt: skip
across = click.option("--across-compactions", "across", is_flag=True, help="Undo the recorded agent's own "
                      "compactions, so that each policy replays the whole conversation. The policy `recorded` makes "
                      "them again.")  # fmt: skip

RULES = (model, models_file, window, cache, cache_ttl, thinking, provider)
"""Which provider's rules hold."""

PROVIDER = ("model", "window", "cache", "long_cache", "thinking", "rules")
"""Their names, but for that of the file of models."""

RUN_OPTIONS = (
    click.option(
        "--scenario", "scenarios", multiple=True, metavar="NAME", shell_complete=completion.scenarios,
        help="Run this scenario. May be repeated.",
    ),
    estimator, *RULES, head, across, out("Write the results to this folder instead of results/<name>."),
    click.option("--force", is_flag=True, help="Overwrite the run that is in the result folder."),
    click.option("--resume", is_flag=True, help="Continue the run in the result folder that was stopped or killed."),
    click.option(
        "--text", type=click.Choice(["redacted", "kept", "none"]), default="redacted",
        help="Choose how much of the transcripts' text the result files hold: all, with likely API keys and passwords "
        "replaced (redacted, the default), all as it is (kept), or none.",
    ),
    click.option(
        "--sample", type=click.IntRange(min=1), metavar="N",
        help="Replay a random sample of N transcripts; expensive ones are drawn more often. Figures are then estimates "
        "for the whole folder.",
    ),
    click.option(
        "--refetch", type=click.FloatRange(0, 1), metavar="RATE",
        help="Assume that the agent fetches this share of lost results again, from 0 to 1. Without --refetch, answers "
        "give the costs of both ends: nothing is fetched again, or everything.",
    ),
    click.option(
        "--draws", type=click.IntRange(min=1), metavar="N",
        help="With --refetch, replay N more times, drawing at random which lost results are fetched again. Write "
        "the draws to the table `draws`.",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, metavar="N",
        help="Draw the transcripts of --sample with this seed.",
    ),
    click.option(
        "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Use N processes. The results stay the same."
    ),
    click.option("--cluster", metavar="ADDRESS", help="Run on the dask.distributed scheduler at this address."),
)  # fmt: skip

PLAYED = (
    scenario, click.option("--transcript", metavar="PATH", help="Play the conversation of this recording."), number,
    model, window, cache, provider,
)  # fmt: skip

as_set = (
    click.option(
        "--settings",
        type=PATH,
        metavar="FILE",
        help="Read an agent's settings from this file. The row `as-set` uses them.",
    ),
    click.option(
        "--project",
        type=PATH,
        metavar="DIR",
        help="Read the settings files of this project's folder, and your own. The row `as-set` uses them.",
    ),
)
"""What the recorded agent's user has set."""

faults = click.option(
    "--fault", "faults", multiple=True, metavar="FAULT",
    help="Make the endpoint misbehave: 429@STEP[:retry=S,times=N], stream-error@STEP, usage=FACTOR (multiplies the "
    "reported usage), usage=none, slow=SECONDS, or unpaired (accepts tool calls without results). May be repeated.",
)  # fmt: skip


def given(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command several options, in this order."""

    def give(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return give


def fields(said: dict[str, Any]) -> dict[str, Any]:
    """Return what a command was given of the provider as fields; `rules` are FIELD=VALUE pairs. What isn't said stays
    out.
    """
    pairs = {name: value for name, value in said.items() if name != "rules" and value is not None}
    return pairs | dict(said.get("rules", ()))
