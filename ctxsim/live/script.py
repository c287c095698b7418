"""What the endpoint plays: a conversation's responses as steps, and the prompts that start its turns."""

from collections.abc import Sequence

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Item, Transcript

GO_ON = "Continue."
"""The prompt where a recording has none: before its first answer, or between two answers."""

TURN_ENDS = "I have what I need."
"""The answer that ends a turn in which a user text came while tools ran."""


class Wanted(msgspec.Struct, frozen=True):
    """One tool call of a step and its result, if any."""

    call: Item
    result: Item | None = None

    @property
    def file(self) -> str:
        """The name of the file that holds the result, where an agent reads results from files."""
        return f"result_{(self.result or self.call).place:04}.txt"


class Step(msgspec.Struct, frozen=True):
    """One response: its text and its tool calls."""

    text: str
    wanted: tuple[Wanted, ...]


class Script(msgspec.Struct, frozen=True):
    """A conversation to play: its prompts, the steps that answer them, and both as one transcript."""

    transcript: Transcript
    prompts: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def files(self) -> dict[str, str]:
        """The text of each result by its file's name."""
        every = (one for step in self.steps for one in step.wanted)
        return {one.file: one.result.text if one.result else "" for one in every}


def script_of(transcript: Transcript) -> Script:
    """Return the script of a conversation. Raises CtxsimError for one without a call."""
    if not transcript.calls:
        raise CtxsimError(f"{transcript.name}: there is no call to play")
    plain = drivable(transcript)
    answers: dict[int | None, Item] = {item.answers: item for item in plain.items if item.kind == "tool_result"}
    prompts = tuple(item.text for item in plain.items if item.kind == "user")
    return Script(plain, prompts, tuple(_step(plain.items[call.start : call.end], answers) for call in plain.calls))


def _step(response: Sequence[Item], answers: dict[int | None, Item]) -> Step:
    text = next((item.text for item in response if item.kind == "assistant"), "")
    return Step(text, tuple(Wanted(item, answers.get(item.place)) for item in response if item.kind == "tool_call"))


def drivable(transcript: Transcript) -> Transcript:
    """Return the conversation in the form in which an endpoint can play it to an agent.

    Each response has one text, before its calls; reasoning and pictures are left out. An agent takes a prompt only
    after its turn has ended. So an answer that ends the turn is added before a user text that came while tools ran, and
    the prompt "Continue." is added between two answers, or before the first one, if no user text is there.
    """
    made = Assembly(transcript.name, transcript.format, transcript.parent)
    items, joined, added = transcript.items, 0, 0
    idle = True
    for call in transcript.calls:
        said = _results_given(made, items[joined : call.start])
        if said and not idle:
            made.response([Part("assistant", TURN_ENDS)], None, call.time_s, call.model)
            added += 1
        if said or idle:
            made.user("\n\n".join(said) or GO_ON)
        response = _response(items[call.start : call.end])
        made.response(response, None, call.time_s, call.model)
        idle = not any(part.kind == "tool_call" for part in response)
        joined = call.end
    _results_given(made, items[joined:])
    if added:
        made.notes.append(f"{added} answer(s) added where somebody spoke while tools ran: an agent's turn ends first")
    return msgspec.structs.replace(made.transcript(), head=transcript.head)


def _results_given(made: Assembly, new: Sequence[Item]) -> list[str]:
    """Add the results among new items, and return the user texts."""
    for item in new:
        if item.kind == "tool_result":
            made.result(item.text, str(item.answers))
    return [item.text for item in new if item.kind == "user" and item.text]


def _response(response: Sequence[Item]) -> list[Part]:
    text = "\n\n".join(item.text for item in response if item.kind == "assistant" and item.text)
    calls = [Part("tool_call", item.text, item.tool, str(item.place)) for item in response if item.kind == "tool_call"]
    return [Part("assistant", text), *calls] if text or not calls else calls
