"""Real agents beside built-in policies: one run of one conversation."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.live.log import Entry
from ctxsim.live.observed import Observation
from ctxsim.policies import open_policies
from ctxsim.results.columns import CallRow, Event, SummaryRow
from ctxsim.results.files import replacing
from ctxsim.results.folder import RunFolder
from ctxsim.results.frames import columns_of, tables_of
from ctxsim.results.run_info import InputInfo, RunInfo, Tables
from ctxsim.results.writer import RunWriter
from ctxsim.runs.anonymous import info_without_secrets, tables_without_secrets
from ctxsim.runs.conduct import said_of
from ctxsim.runs.rows import tables_together
from ctxsim.runs.task import transcript_sha256
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.safety.redaction import Secrets
from ctxsim.simulator.measure.measured import AsSent, Basis, measure
from ctxsim.simulator.measure.summary import WhatIf, summarize
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.finding import prepare
from ctxsim.transcript import Transcript

REQUESTS = ("policy", "number", "kind", "step", "status", "tokens", "output", "cost_usd", "kept", "cut", "inserted",
            "twice", "dropped")  # fmt: skip


def write_observed(
    out: Path, title: str, transcript: Transcript, provider: Provider, policies: tuple[str, ...],
    observations: Sequence[tuple[Observation, Sequence[Entry]]],
) -> None:  # fmt: skip
    """Write a run of one conversation, under these policies and as real agents played it.

    `requests.csv` in its folder has every request of every agent, also those outside the conversation. Raises
    UnknownName or LabelError for a policy that can't be made.
    """
    specs = list(open_policies(policies))
    failed: list[str] = []
    rows = rows_of(AsSent(transcript, provider), specs, failed)
    tables, summaries = [rows.tables], rows.summaries
    for observation, _ in observations:
        observed, summary = _measured(observation, transcript, provider)
        tables.append(observed)
        summaries.append(summary)
    name = transcript.name
    labels = tuple(observation.label for observation, _ in observations)
    digest = transcript_sha256(transcript)
    notes = tuple(f"{one.label}: {note}" for one, _ in observations for note in one.notes)
    secrets = Secrets(item.text for item in transcript.items)
    whole = tables_together(tables)
    source = InputInfo(
        name, digest, 1, len(transcript.calls), (*transcript.notes, *notes, *failed),
        keys=dict(sorted(secrets.issuers.items())) or msgspec.UNSET,
    )  # fmt: skip
    info = RunInfo(
        name=out.name, title=title, inputs=(info_without_secrets(source),), **said_of(specs, [provider], labels)
    )
    with RunFolder(out.absolute()) as folder:
        folder.begin()
        with RunWriter(folder) as writer:
            writer.write(
                tables_without_secrets(whole, secrets),
                [SummaryRow(transcript=name, root=name, provider=0, chance_rate=None, **one) for one in summaries],
            )
            writer.finish(info)
        folder.clear()
        with replacing(out / "requests.csv") as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            written = csv.writer(file, lineterminator="\n")
            written.writerow(REQUESTS)
            for observation, entries in observations:
                for entry in entries:
                    written.writerow([observation.label, *(getattr(entry, column) for column in REQUESTS[1:])])


def _measured(observation: Observation, played: Transcript, provider: Provider) -> tuple[Tables, dict[str, Any]]:
    """Return an agent's tables and the columns of its summary.

    The needs of the played conversation count as the agent's, whose own calls only read files.
    """
    spec = observation.spec()
    # The needs of the agent's calls, found in the played conversation.
    calls = played.calls[: len(observation.transcript.calls)]
    references = prepare(msgspec.structs.replace(played, items=played.items[: calls[-1].end], calls=calls))
    basis = Basis(observation.transcript, provider, provider.counter(), references)
    measured = measure(basis, spec)
    seen = [_as_observed(row, measured.events, observation) for row in measured.rows]
    measured = msgspec.structs.replace(measured, calls=columns_of(CallRow, seen))
    # No what-if: other summaries or inserted calls would no longer be what was observed.
    return tables_of(measured.tables, [measured.calls]), summarize(basis, measured, WhatIf(False, False))


def _as_observed(row: CallRow, events: Sequence[Event], seen: Observation) -> CallRow:
    """Return a call's row with the summaries that the agent really requested, and the dollars of its side requests.

    A call that the endpoint refused is refused here too, even if its items pair, as with results sent twice.
    """
    if row.call in seen.refused and row.status == "ok":
        row = msgspec.structs.replace(row, status="invalid_pairs", reason=seen.refused[row.call])
    asked = [one for one in seen.helpers.get(row.call, ()) if one.status == 200 and not one.retry]
    summaries = [one for one in asked if one.kind == "summary"]
    usd = sum(one.cost_usd or 0.0 for one in asked)
    taken = any(
        event.call == row.call and event.action != "inserted" and event.moment != "on_tool_result" for event in events
    )
    return msgspec.structs.replace(
        row,
        compactions=int(taken),
        summary_calls=len(summaries),
        tokens_summary_in=sum(one.tokens for one in summaries),
        tokens_summary_out=sum(one.output for one in summaries),
        cost_summary_usd=None if row.cost_summary_usd is None else row.cost_summary_usd + usd,
        cost_usd=None if row.cost_usd is None else row.cost_usd + usd,
    )
