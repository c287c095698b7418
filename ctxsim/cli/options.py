"""Options that several commands share, defined once so that they mean the same everywhere."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import click
import msgspec
from click.core import ParameterSource
from msgspec import Meta

from ctxsim.answers.advice.advice import GOALS
from ctxsim.api import Count, Positive, Share
from ctxsim.cli import completion
from ctxsim.cli.completion import Complete
from ctxsim.plugins.labels import words_of
from ctxsim.report.sheet import FORMS
from ctxsim.simulator.provider.rules import ProviderFields

Option = Callable[[Callable[..., Any]], Callable[..., Any]]
"""What gives a command an option: a decorator."""


class _Named(click.Path):
    """A path that must not be empty: an unset variable gives '', which pathlib takes for the current folder."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", parameter, context)
        return super().convert(value, parameter, context)


PATH = _Named(path_type=Path)


def number_of(kind: Any) -> Any:
    """Return the type of an option that takes a number within the limits of the public function's argument."""
    number, limits = get_args(kind)
    return (click.IntRange if number is int else click.FloatRange)(limits.ge, limits.le)


def a_number(name: str, kind: Any, what: str, metavar: str = "N", **more: Any) -> Option:
    """Give a command an option that takes a number within the limits of `kind`; `what` says what it does."""
    return click.option(name, type=number_of(kind), metavar=metavar, help=what, **more)


def several(name: str, parameter: str, metavar: str, what: str, complete: Complete | None = None) -> Option:
    """Give a command an option that may be repeated; `what` says what it does."""
    return click.option(name, parameter, multiple=True, metavar=metavar, shell_complete=complete,
                        help=f"{what} May be repeated.")  # fmt: skip


paths = click.argument("paths", nargs=-1)
"""Transcripts: files, folders, - for standard input. May be empty."""

some_paths = click.argument("paths", nargs=-1, required=True)

number = a_number("--number", Positive, "Take transcript number N of the input. Default: the first.")
estimator = click.option(
    "--estimator", metavar="LABEL",
    help="Let policies estimate tokens with this estimator, unless a policy's label names another.",
)  # fmt: skip
tokenizer = click.option(
    "--tokenizer", metavar="NAME",
    help="Count tokens with this tokenizer, instead of each model's own. See: ctxsim list tokenizers",
)  # fmt: skip

MODELS = ".toml"
"""The suffix of a file of models."""


def own_models(said: str) -> tuple[str, str]:
    """Split `FILE.toml:NAME`, `FILE.toml` or `NAME` into the file and the name; a missing part is ''."""
    if said.endswith(MODELS):
        return said, ""
    file, own, name = said.rpartition(f"{MODELS}:")
    return f"{file}{MODELS}" if own else "", name


def _model(context: click.Context, option: click.Parameter, said: str | None) -> str | None:
    """Return the model's id, and set the parameter `models` to the file given with it, or else to the project's."""
    file, name = own_models(said or "")
    chosen = file or context.lookup_default("models")
    context.params["models"] = Path(chosen) if chosen else None
    return name or None


model = click.option(
    "--model", metavar="ID|FILE[:ID]", shell_complete=completion.models, callback=_model,
    help="Use the window, prices, cache rules and tokenizer of this model. FILE.toml holds your own models: [[model]] "
    "tables with id, vendor, window, prices. Recordings use those that they name; FILE.toml:ID makes all use one.",
)  # fmt: skip
MOST_TOKENS = 10**12
"""The upper bound of a number of tokens on the command line."""

window = a_number("--window", Annotated[int, Meta(ge=1, le=MOST_TOKENS)],
                  "Set the provider's context window to N tokens.")  # fmt: skip


def flag(name: str, what: str, *parameter: str) -> Option:
    """Give a command an option without a value; `what` says what it does."""
    return click.option(name, *parameter, is_flag=True, help=what)


def one_of(name: str, words: Collection[str], what: str, *parameter: str, usual: str | None = None) -> Option:
    """Give a command an option that takes one of some words; `what` says what the word chooses."""
    return click.option(name, *parameter, type=click.Choice(list(words)), default=usual, help=what)


def policies(what: str) -> Option:
    """Give a command `--policy`, which may be repeated; `what` says what is done under each policy."""
    return several("--policy", "policies", "LABEL", what, completion.policies)


def out(what: str) -> Option:
    """Give a command `--out`; `what` says what is written, and where it goes by default."""
    return click.option("--out", type=PATH, metavar="PATH", help=what)


def form_of(what: str) -> Option:
    """Give a command `--format`; `what` says what is printed in it."""
    return one_of("--format", FORMS, what, "form", usual="table")


form = form_of("Print the result in this form.")
goal = one_of(
    "--goal", GOALS, "Choose what the advice aims at: fewest dollars, most kept, fewest tokens, or least of the window "
    "used.", usual="dollars",
)  # fmt: skip


def _chosen(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...] | None:
    """The named columns, or `*` for all. An unknown name raises UnknownName before anything runs."""
    if not given or given == "all":
        return ("*",) if given else None
    from ctxsim.report.cells import chosen_columns

    return chosen_columns(given)


columns = click.option(
    "--columns", metavar="A,B|all", callback=_chosen, shell_complete=completion.columns,
    help="Print only these columns, or all of them. See: ctxsim list columns",
)  # fmt: skip


def _rule(value: str) -> Any:
    """Parse `FIELD=VALUE` of a provider into a pair, with the value converted to the field's type."""
    field, equals, text = value.partition("=")
    known = get_type_hints(ProviderFields)
    if not equals or field not in known:
        wrong = f"'{value}' is not FIELD=VALUE" if field in known else f"'{field}' is no field"
        raise click.BadParameter(f"{wrong}; fields: {', '.join(known)}")
    try:
        plain: Any = msgspec.json.decode(text) if text[:1] in "{[" and text else text
        if text == "none" and not {str, text} & {*get_args(known[field]), *words_of(known[field])}:
            plain = None
        made = msgspec.convert(plain, known[field], strict=False)
        # What a limit leaves out is the vendor's rule.
        return field, plain if field == "rate_limit" and isinstance(plain, dict) else made
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        words = ", ".join(words_of(known[field]))
        raise click.BadParameter(f"{field}={text}: {f'expected {words}' if words else error}") from None


def _rules(context: click.Context, option: click.Parameter, said: tuple[Any, ...]) -> tuple[Any, ...]:
    """The given rules, which override those of the project's file, together with these."""
    usual = option.type_cast_value(context, context.lookup_default("rules") or ())
    return tuple((dict(usual) | dict(said)).items())


provider = click.option(
    "--provider", "rules", type=_rule, multiple=True, metavar="FIELD=VALUE", callback=_rules,
    help="Set one field of the mock provider: cache=VENDOR|FILE|none, rate_limit=none, long_cache=true (cached for "
    "an hour), thinking=none|drop|refuse (if messages before a thinking block were edited: do nothing, drop the block, "
    "or refuse the request), reserved_output=TOKENS and others. "
    "May be repeated. A wrong FIELD lists all fields.",
)  # fmt: skip


def _head_size(value: Any) -> Any:
    """`fitted`, `none`, or a number of tokens."""
    if value in ("fitted", "none"):
        return value
    if str(value).isdecimal() and int(value) <= MOST_TOKENS:
        return int(value)
    raise click.BadParameter(f"'{value}' is none of: fitted, none, a number of tokens up to 10^12")


head = click.option(
    "--head", type=_head_size, default="fitted", metavar="fitted|none|TOKENS",
    help="Set the size of the system prompt and tools where the log lacks them: fitted to recorded usage, none, or "
    "this number of tokens.",
)  # fmt: skip
across = flag(
    "--across-compactions", "Undo the recorded agent's own compactions, so that each policy replays the whole "
    "conversation. The policy `recorded` makes them again.", "across",
)  # fmt: skip


def _keyed(number: Any, key: str, least: Any) -> Callable[[Any], Any]:
    """Parse a number that may be followed by a named one: `60:seed=1`. The second number sets the parameter `key`."""

    def convert(value: Any) -> Any:
        text, colon, rest = str(value).partition(":")
        name, _, other = rest.partition("=")
        if colon and name != key:
            raise click.BadParameter(f"'{value}' may end in :{key}=N, and in nothing else")
        first = number_of(number)(text)
        if colon:
            click.get_current_context().params[key] = number_of(least)(other)
        return first

    return convert


def sample(what: str) -> Option:
    """Give a command `--sample`; `what` says what is done with the sample."""
    return click.option("--sample", type=_keyed(Positive, "seed", Count), metavar="N[:seed=S]", help=what)


PROCESSES = "Default: one for each 4 MB of recordings, at most one per core, at most 8."
"""The default of `--jobs`, for its help."""


def jobs(what: str) -> Option:
    """Give a command `--jobs`; `what` stays the same for any number."""
    return a_number("--jobs", Positive, f"Use N processes. {PROCESSES} {what} the same.")


def _workers(value: Any) -> int:
    """Parse a number of processes. The address of a scheduler sets the parameter `cluster`, and means one process."""
    if ":" not in str(value):
        return int(number_of(Positive)(value))
    click.get_current_context().params["cluster"] = value
    return 1


RULES = (model, window, provider)
"""Options that set the provider's rules."""

RUN_OPTIONS = (
    several("--scenario", "scenarios", "NAME", "Run this scenario.", completion.scenarios),
    estimator, *RULES, head, across, out("Write the results to this folder instead of results/<name>."),
    flag("--force", "Overwrite the run that is in the result folder.", "overwrite"),
    flag("--resume", "Continue the run in the result folder that was stopped or killed."),
    one_of(
        "--text", ("redacted", "kept", "none"), "Choose how much of the transcripts' text the result files hold: all, "
        "with likely API keys and passwords replaced (redacted, the default), all as it is (kept), or none.",
        usual="redacted",
    ),
    sample(
        "Replay a random sample of N transcripts, drawn with this seed (default seed: 0); expensive ones are drawn "
        "more often. Figures are then estimates for the whole folder."
    ),
    click.option(
        "--refetch", type=_keyed(Share, "draws", Positive), metavar="RATE[:draws=N]",
        help="Assume that the agent fetches this share of lost results again, from 0 to 1. Without --refetch, answers "
        "give the costs of both ends: nothing is fetched again, or everything. With draws=N, replay N more times, "
        "drawing at random which lost results are fetched again, and write the table `draws`.",
    ),
    click.option(
        "--jobs", type=_workers, metavar="N|ADDRESS",
        help=f"Use N processes, or the dask.distributed scheduler at this address. {PROCESSES} "
        "The results stay the same.",
    ),
)  # fmt: skip

PLAYED = (number, *RULES)
"""Options that choose the conversation that an endpoint plays, and its rules."""


def _settings(context: click.Context, option: click.Parameter, said: Path | None) -> Path | None:
    """Return the given file. A given folder sets the parameter `project` instead."""
    folder = said is not None and said.is_dir()
    context.params["project"] = said if folder else None
    return None if folder else said


as_set = click.option(
    "--settings", type=PATH, metavar="FILE|DIR", callback=_settings,
    help="Read an agent's settings from this file; of a folder, from the settings files of the project in it and from "
    "those of your user. The row `as-set` uses them.",
)  # fmt: skip
"""The settings of the recorded agent's user."""

faults = several(
    "--fault", "faults", "FAULT",
    "Make the endpoint misbehave: 429@STEP[:retry=S,times=N] (refuses response number STEP N times, and says to wait S "
    "seconds), stream-error@STEP (breaks off this response), usage=FACTOR (multiplies the reported usage), usage=none, "
    "slow=SECONDS, or unpaired (accepts tool calls without results).",
)  # fmt: skip


def given(*options: Option) -> Option:
    """Give a command several options, in this order."""

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return give


def alone(option: str, beside: Collection[str] = ()) -> None:
    """Raise click.UsageError if an option is given together with an option that isn't in `beside`."""
    params = click.get_current_context().command.params
    not_together(option, [one.name or "" for one in params if option not in one.opts and one.name not in beside])


def not_together(option: str, ignored: Collection[str]) -> None:
    """Raise click.UsageError if an option is given together with one that it would ignore."""
    context = click.get_current_context()
    for one in context.command.params:
        if one.name in ignored and context.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} and {one.opts[0]} can't go together")


def fields(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as arguments of a command's public function. `rules` become one argument for each provider field.
    Options without a value are left out, except `jobs`, for which None means as many processes as are worth it.
    """
    given = {name: value for name, value in said.items() if name != "rules" and (value is not None or name == "jobs")}
    return given | dict(said.get("rules", ()))


def defaults() -> dict[str, dict[str, Any]]:
    """Return the project's defaults of options, by command."""
    from ctxsim.api.project import OPTIONS, RULES, found

    said = found()
    shared = said.given("goal", *OPTIONS)
    shared["rules"] = tuple(f"{name}={value}" for name, value in said.given(*RULES).items())
    return {
        "bench": shared | ({"policies": said.policies} if said.policies else {}),
        "sweep": shared | ({"grids": said.grids} if said.grids else {}),
    }
