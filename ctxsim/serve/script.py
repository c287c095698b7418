"""What the endpoint plays: a conversation's responses as steps, and the prompts that start its turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Item, Transcript

GO_ON = "Continue."
"""What a person says where a recording goes on after an answer without one."""


class Wanted(msgspec.Struct, frozen=True):
    """One tool call of a step: what was called, and the result that answers it, with the place of each."""

    tool: str
    arguments: str
    result: str
    place: int
    answer: int | None

    @property
    def file(self) -> str:
        """The name of the file that holds the result, where an agent reads results from files."""
        return f"result_{self.answer or self.place:04}.txt"


class Step(msgspec.Struct, frozen=True):
    """One response: its text and its tool calls."""

    text: str
    wanted: tuple[Wanted, ...]


class Script(msgspec.Struct, frozen=True):
    """A conversation as it can be played: prompts, each with the number of the first step that answers it, and steps.

    `transcript` is the same conversation in the form in which it is played.
    """

    transcript: Transcript
    prompts: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]

    @property
    def files(self) -> dict[str, str]:
        """The results by file name."""
        return {one.file: one.result for step in self.steps for one in step.wanted}


def script_of(transcript: Transcript) -> Script:
    """Return the script of a conversation. Raises CtxsimError for one without a call."""
    if not transcript.calls:
        raise CtxsimError(f"{transcript.name}: there is no call to play")
    plain = drivable(transcript)
    answers: dict[int | None, Item] = {item.answers: item for item in plain.items if item.kind == "tool_result"}
    prompts: list[tuple[str, int]] = []
    steps: list[Step] = []
    joined = 0
    for call in plain.calls:
        new = plain.items[joined : call.start]
        prompts += [(item.text, len(steps)) for item in new if item.kind == "user"]
        steps.append(_step(plain.items[call.start : call.end], answers))
        joined = call.end
    return Script(plain, tuple(prompts), tuple(steps))


def _step(response: Iterable[Item], answers: dict[int | None, Item]) -> Step:
    text, wanted = "", []
    for item in response:
        if item.kind == "tool_call":
            found = answers.get(item.place)
            result = found.text if found else ""
            wanted.append(Wanted(item.tool, item.text, result, item.place, found.place if found else None))
        else:
            text = item.text
    return Step(text, tuple(wanted))


def drivable(transcript: Transcript) -> Transcript:
    """Return the conversation in the form in which an endpoint can play it.

    One text per response, before its calls; no reasoning, no pictures. A prompt comes where a turn ends: what a person
    said while tools ran joins the next prompt, and where nobody said anything "Continue." stands.
    """
    made = Assembly(transcript.name, transcript.format, transcript.parent)
    items, joined, waiting = transcript.items, 0, []
    idle, moved = True, 0
    for call in transcript.calls:
        results = [item for item in items[joined : call.start] if item.kind == "tool_result"]
        said = [item.text for item in items[joined : call.start] if item.kind == "user"]
        for item in results:
            made.result(item.text, str(item.answers))
        waiting += said
        if idle:
            made.user("\n\n".join(waiting) or GO_ON)
            waiting = []
        else:
            moved += len(said)
        response = _response(items[call.start : call.end])
        made.response(response, None, call.time_s, call.model)
        idle = not any(part.kind == "tool_call" for part in response)
        joined = call.end
    for item in items[joined:]:
        if item.kind == "tool_result":
            made.result(item.text, str(item.answers))
    if moved:
        made.notes.append(f"{moved} text(s) that came while tools ran join the next prompt")
    plain = made.transcript()
    both = zip(plain.calls, transcript.calls, strict=True)
    calls = [msgspec.structs.replace(new, time_s=old.time_s) for new, old in both]
    return msgspec.structs.replace(plain, head=transcript.head, calls=tuple(calls))


def _response(response: Sequence[Item]) -> list[Part]:
    text = "\n\n".join(item.text for item in response if item.kind == "assistant" and item.text)
    calls = [Part("tool_call", item.text, item.tool, str(item.place)) for item in response if item.kind == "tool_call"]
    return [Part("assistant", text), *calls] if text or not calls else calls
