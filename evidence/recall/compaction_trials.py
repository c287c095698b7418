"""Trials of compactions with a live model, as algal/pi-openai-server-compaction records them at 8a3de2f.

`fixtures.json` holds conversations with questions, `trials.jsonl` what each compaction made of them and the answers to
the same questions afterwards, graded. Two shapes: conversations as pi's messages, or as items of OpenAI's Responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.source import Source
from evidence.recall.graded import Graded, Questioned

Json = Mapping[str, Any]


def files_in(folder: Path) -> tuple[Path, Path] | None:
    """Return the two files of a folder of trials, compressed or not; None if it holds none."""
    fixtures, trials = (
        next((path for suffix in ("", ".gz", ".zst") if (path := folder / f"{name}{suffix}").exists()), None)
        for name in ("fixtures.json", "trials.jsonl")
    )
    return (fixtures, trials) if fixtures and trials else None


def read_trials(fixtures: Path, trials: Path, left_out: list[str]) -> Iterator[Questioned]:
    """Yield each trial's conversation under each condition whose compaction can be read, with its graded answers.

    `left_out` gets a line for each condition that can't be read, because its artifact isn't text. Raises InputError.
    """
    known = {one["id"]: one for one in _decoded(fixtures)}
    opaque: dict[str, int] = {}
    for record in Source(str(trials), trials).records([]):
        trial: Json = record.value
        try:
            fixture = known[trial["fixtureId"]]
            for condition, evaluation in trial["evaluations"].items():
                made = _conversation(fixture, trial, condition)
                if made is None:
                    opaque[condition] = opaque.get(condition, 0) + len(evaluation["scores"])
                    continue
                transcript = made.transcript()
                answers = tuple(_graded(score, len(transcript.calls) + 1) for score in evaluation["scores"])
                yield Questioned(condition, fixture["id"], transcript, answers)
        except (KeyError, TypeError, IndexError) as error:
            raise InputError(f"{trials}:{record.line}", f"is no such trial: {error!r}") from None
    left_out += [f"{trials}: {n} answers after {name}: its artifact isn't readable" for name, n in opaque.items()]


def _decoded(path: Path) -> list[Any]:
    try:
        return msgspec.json.decode(Source(str(path), path).content(), type=list[Any])
    except msgspec.DecodeError as error:
        raise InputError(path, str(error)) from None


def _conversation(fixture: Json, trial: Json, condition: str) -> Assembly | None:
    """Return the fixture's conversation, compacted by the condition, with the tail that all share; None if opaque."""
    made = Assembly(f"{fixture['id']}/{trial.get('trial', 1)}/{condition}", "compaction-trials", fixture["id"])
    old: Sequence[Json] = fixture.get("messages") or fixture["history"]
    starts = []
    for message in old:
        starts.append(len(made.items))
        _add(made, message)
    if condition == "pi_default":
        first = first_kept(trial)
        made.compacted("manual", [trial["piDefault"]["summary"]], range(_place(made, starts, first), len(made.items)))
    elif condition == "text_summary":
        made.compacted("manual", [trial["textSummary"]["text"]])
    elif condition != "full_context":
        return None
    for message in fixture["sharedTail"]:
        _add(made, message)
    return made


def first_kept(trial: Json) -> int:
    """Return the index of the first message that pi's compaction kept; entries are numbered from 1."""
    return int(trial["piDefault"]["firstKeptEntryId"].rpartition("-")[2]) - 1


def _place(made: Assembly, starts: Sequence[int], message: int) -> int:
    return starts[message] if message < len(starts) else len(made.items)


def _add(made: Assembly, message: Json) -> None:
    match message.get("type"), message.get("role"):
        case _, "toolResult":
            made.result(_text(message["content"]), message["toolCallId"], message["toolName"])
        case "function_call", _:
            made.response([Part("tool_call", message["arguments"], message["name"], message["call_id"])])
        case "function_call_output", _:
            made.result(message["output"], message["call_id"])
        case _, "user":
            made.user(_text(message["content"]))
        case _, "assistant":
            made.response([_part(block) for block in message["content"]])
        case other:
            raise KeyError(f"a message of kind {other}")


def _part(block: Json) -> Part:
    if block["type"] == "toolCall":
        arguments = msgspec.json.encode(block["arguments"]).decode()
        return Part("tool_call", arguments, block["name"], block["id"])
    return Part("assistant", block["text"])


def _text(content: str | Sequence[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def _graded(score: Json, call: int) -> Graded:
    groups = {name: str(score[name]) for name in ("category", "epoch") if name in score}
    return Graded(call, score["questionId"], score["expected"], score["actual"], score["correct"], groups)
