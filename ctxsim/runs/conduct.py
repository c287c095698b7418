"""Replays transcripts under policies and writes a run's folder, with the same bytes for any number of processes."""

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.errors import ContractError, CtxsimError, Stopped
from ctxsim.policies import Spec, open_policies
from ctxsim.readers import sources as sources_of
from ctxsim.readers.glance import accepted
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo, RunInfo
from ctxsim.results.folder import RunFolder
from ctxsim.results.run_info import RECORDED, __version__
from ctxsim.results.writer import RunWriter
from ctxsim.runs.gathered import Gathered
from ctxsim.runs.identity import others_code, own_code, question, refuse_another
from ctxsim.runs.own_process import end_apart
from ctxsim.runs.parts import Parts, fingerprint, read_part
from ctxsim.runs.processes import fitting
from ctxsim.runs.rows import WHOLE, Done, Rows, shares, together
from ctxsim.runs.sizes import Plan, plan
from ctxsim.runs.task import Common, Setting, Task, content_of, specs_of
from ctxsim.runs.user_code import Shipped, shipped
from ctxsim.runs.workers import Workers
from ctxsim.safety.redaction import marked
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.references.finding import DETECTORS
from ctxsim.synthesis import Scenario

LONG_LABEL = 44


class Watch(NamedTuple):
    """Callbacks of a run. `finished`: a finished source, and the number of all. `within`: a source under way, and how
    many policy-calls of its present transcript are done, of how many. `stopped`: whether to give it up and stop.
    """

    finished: Callable[[InputInfo, int], object] = lambda info, total: None
    within: Callable[[str, int, int], object] = lambda name, done, known: None
    stopped: Callable[[], bool] = lambda: False


def conduct(
    setting: Setting,
    out: Path,
    scenario: Scenario | None = None,
    paths: Sequence[str] = (),
    jobs: int | None = 1,
    *,
    watch: Watch = Watch(),  # noqa: B008 - frozen
    resume: bool = False,
    cluster: str | None = None,
    replace: bool = True,
    given: Sequence[Source] = (),
    today: date | None = None,
) -> RunInfo:
    """Run a scenario, the transcripts under `paths`, or `given`; write the run's folder, and return its description.

    Finished tasks are kept until the run is complete: with `resume` they aren't done again, and the bytes are the same
    as without. `jobs` None: as many processes as are worth it. `cluster` is the address of a dask scheduler. When
    `watch.stopped` returns True, the source under way is given up, and the finished ones become an incomplete run.
    `today` is the day of prices that no recording dates; None: this day.
    Files that can't be read are in the inputs with their `error`, policies that fail on a transcript with a line in
    `failed`.
    Raises UnknownName or LabelError for a policy that can't be made, Stopped if nothing is finished yet, ContractError
    if no policy could run, InputError for a missing path, a transcript in two paths, a folder that another process is
    writing or that holds foreign files, and without `replace` one with another run, CtxsimError if writing fails.
    """
    # Opened labels and their processes outlive a bench, and policy files may have changed.
    open_policies.cache_clear()
    end_apart()
    specs = specs_of(setting)
    sources = [] if scenario else list(given or sources_of(*paths))
    whats: Sequence[Source | Scenario] = [scenario] if scenario else sources
    names = [what.name for what in whats]
    jobs = fitting(sources) if jobs is None else jobs
    with ExitStack() as stack:
        # First, so that processes start while this one prepares the tasks.
        workers = stack.enter_context(Workers(jobs, cluster, watch.within, watch.stopped))
        # Reads rule files, and raises once, not for each source, if a model or vendor is unknown.
        resolve(setting.overrides, (scenario.name, scenario.provider) if scenario else None, None, setting.models)
        sampling = setting.sample is not msgspec.UNSET and scenario is None
        read_again = all(source.path is not None for source in sources)
        shared = read_again and not cluster and not sampling
        each = shares(jobs, len(whats), len(specs)) if shared else [WHOLE]
        code = shipped(specs, elsewhere=cluster is not None) if jobs > 1 or cluster else Shipped()
        common = Common(setting, code, accepted(sources), today or date.today())
        tasks = [Task(what, common, share) for what in whats for share in each]
        if setting.overrides.get("tokenizer"):
            open_tokenizer(setting.overrides["tokenizer"])
        asked = question(setting, names)
        stack.enter_context(_writing_told(out))
        if not replace:
            refuse_another(out.absolute(), asked)
        others = others_code(specs)
        options = [msgspec.json.encode(setting).decode(), *map(str, sorted(common.accepted.items()))]
        # Finished tasks of another day may have other prices.
        day = str(common.today) if scenario or "model" in setting.overrides else ""
        made_with = fingerprint([own_code(), others, *options, *names, str(len(each)), day])
        folder = stack.enter_context(RunFolder(out.absolute()))
        contents = [partial(content_of, task.what) for task in tasks]
        # Sizes are taken by tasks of their own, which are numbered after the others but done before them.
        parts = stack.enter_context(Parts(folder, made_with, contents * (2 if sampling else 1), resume))
        sample, known = _drawn(workers, tasks, parts, setting, watch.stopped) if sampling else (None, ())
        writer = stack.enter_context(RunWriter(folder))
        results = Gathered(names, setting.text, writer, sample, known)
        chosen = _chosen(tasks, sample)
        for at, found in workers.until_stopped(_in_order(workers, chosen, parts, len(each), known, len(names))):
            for one in found:
                if isinstance(one, Done):
                    watch.finished(results.source(at, one.info), len(names))
                else:
                    results.transcript(at, one)
        if not results.inputs and names:
            raise Stopped
        if results.failures and not results.replayed:
            folder.clear()
            raise ContractError(f"no policy could be replayed; the first: {results.failures[0]}")
        kept = _kept(setting, paths)
        info = RunInfo(
            name=setting.name if scenario else kept.name,
            title=setting.title if scenario else kept.title,
            **said_of(specs, results.providers),
            inputs=tuple(results.inputs),
            complete=len(results.inputs) == len(names),
            scenario=msgspec.to_builtins(scenario) if scenario else None,
            secrets_kept=setting.keep_secrets,
            sample=msgspec.structs.replace(sample.about, drawn=tuple(results.drawn)) if sample else msgspec.UNSET,
            refetch=setting.refetch,
            recorders=tuple(results.recorders) or msgspec.UNSET,
            question=asked,
            setting=msgspec.to_builtins(kept),
            others_code=others or msgspec.UNSET,
        )
        writer.finish(info)
        if info.complete:
            folder.clear()
    return info


def _chosen(tasks: Sequence[Task], sample: Plan | None) -> dict[int, Task]:
    """Return the tasks to do, by number: of a sample only those of sources with drawn transcripts."""
    if sample is None:
        return dict(enumerate(tasks))
    return {n: msgspec.structs.replace(tasks[n], drawn=tuple(its)) for n, its in enumerate(sample.by_source) if its}


def _kept(setting: Setting, paths: Sequence[str]) -> Setting:
    """Return the setting and paths for `run.json`; without text, no name or path of a recording."""
    if not setting.text:
        return msgspec.structs.replace(setting, name="recorded", title=RECORDED)
    quiet = str if setting.keep_secrets else marked
    return msgspec.structs.replace(
        setting, name=quiet(setting.name), title=quiet(setting.title), paths=tuple(map(quiet, paths)) or msgspec.UNSET
    )


def said_of(specs: Sequence[Spec], providers: Iterable[Provider], more: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of a run's description on policies and providers; `more` are labels to add to the policies'."""
    providers = list(providers)
    tokenizers = dict.fromkeys(provider.tokenizer for provider in providers)
    return {
        "ctxsim": __version__,
        "tokenizers": {name: open_tokenizer(name).vocabulary_sha256 for name in tokenizers},
        "policies": (*(spec.label for spec in specs), *more),
        "shown": {spec.label: spec.short for spec in specs if len(spec.label) > LONG_LABEL},
        "bounds": tuple(spec.label for spec in specs if spec.bound),
        "limits": {spec.label: limits for spec in specs if (limits := spec.limits())},
        "providers": tuple(msgspec.to_builtins(provider) for provider in providers),
        "detectors": DETECTORS,
    }


def _drawn(
    workers: Workers, tasks: Sequence[Task], parts: Parts, setting: Setting, stopped: Callable[[], bool]
) -> tuple[Plan | None, Sequence[Done]]:
    """Take the sizes of all sources and draw a sample; its plan is None if all transcripts run. Raises Stopped."""
    assert setting.sample is not msgspec.UNSET
    sizing = {at: msgspec.structs.replace(task, sizing=True) for at, task in enumerate(tasks, len(tasks))}
    found: list[Done] = []
    for number in workers.finished(sizing, parts):
        found += [one for one in read_part(parts.path(number)) if isinstance(one, Done)]
        if stopped():
            raise Stopped
    return plan(found, *setting.sample), found


def _in_order(
    workers: Workers, tasks: Mapping[int, Task], parts: Parts, each: int, known: Sequence[Done], sources: int
) -> Iterator[tuple[int, Iterator[Rows | Done]]]:
    """Yield each source's number and rows when its shares are finished; without a task, its Done in `known`."""
    finished = workers.finished(tasks, parts)
    for at in range(sources):
        shares_of_it = range(at * each, (at + 1) * each)
        if shares_of_it[0] not in tasks:
            yield at, iter([known[at]])
            continue
        for _ in shares_of_it:
            next(finished)
        yield at, together([read_part(parts.path(number)) for number in shares_of_it])


@contextmanager
def _writing_told(out: Path) -> Iterator[None]:
    """Turn an OSError of writing into a CtxsimError that says where, and what to do."""
    try:
        yield
    except OSError as error:
        kept = "what is finished is kept, make room and go on with --resume"
        elsewhere = "a run is written into a folder; choose another with --out"
        why = kept if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else elsewhere
        raise CtxsimError(f"{out}: {error.strerror or error}; {why}") from error
