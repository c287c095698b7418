"""Builds a valid transcript from a source's records: numbers items and calls, and pairs results with calls."""

from collections import Counter as Frequencies
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from ctxsim.readers.assembly.blocks import Part, text_and_media
from ctxsim.readers.assembly.segments import history
from ctxsim.readers.source import Source, under
from ctxsim.transcript import NO_HISTORY, NO_RESULT, Call, Compaction, Head, Item, Kind, Media, Transcript, Usage

NO_RESPONSE = "no response of the model is recorded"

LATER_SYSTEM = "system message(s) in mid-conversation kept as user text"


class Assembly:
    """Collects records in recorded order. A provider would accept every request of the resulting transcript.

    A result is paired with a call of the last response: by id if the result and the calls have ids; else, if the result
    has no id, with the next unanswered call of its tool; else with the next unanswered call. An unanswered call gets a
    synthetic result, a result without a call is left out; both are noted.
    """

    def __init__(self, name: str, format: str = "", parent: str | None = None) -> None:
        self.name = name
        self.format = format
        self.parent = parent
        # Items that have a place so far. User messages that wait for results have none yet.
        self.items: list[Item] = []
        # The recorded compactions so far.
        self.compactions: list[Compaction] = []
        self.system: list[str] = []
        self.tools: list[str] = []
        # None: recorded if there is a system prompt.
        self.head_recorded: bool | None = None
        self.notes: list[str] = []
        # Kinds of records that are not in the transcript, with their counts.
        self.left_out: Frequencies[str] = Frequencies()
        # Sentences without their first word, the number of what they are about.
        self.counts: Frequencies[str] = Frequencies()
        # Details of what else shortened the history, by the number of the call after it and what it was.
        self.shortened: dict[tuple[int, str], str] = {}
        # Dollars of the whole session: used only if no call states its own.
        self.cost_usd: float | None = None
        # The model's window in tokens as the log stated it last, for the responses from here on.
        self.window: int | None = None
        # Where records with a name of their own stand, for later ones that name them.
        self.place_of: dict[str | int, int] = {}
        self.project = ""
        self.version = ""
        # Responses that were paid for but aren't part of the conversation.
        self._beside: list[Call] = []
        self._calls: list[Call] = []
        self._message = self._carried = 0
        self._unanswered: list[Item] = []
        self._waiting: list[Part] = []
        self._late: dict[str, int] = {}
        self._orphans = 0
        self._placeholders = 0
        self._cleared: list[tuple[int, int]] = []

    @property
    def calls(self) -> int:
        """Number of responses so far."""
        return len(self._calls)

    @property
    def compacted_now(self) -> Compaction | None:
        """The recorded compaction before the next call, if there is one."""
        return next((one for one in self.compactions[-1:] if one.call > self.calls), None)

    def lines(self, source: Source, known: Collection[str] = ()) -> Iterator[tuple[str, Any, str]]:
        """Yield type, value and place of a session's lines. Those without a type, or none of `known`, are left out."""
        for record in source.records(self.notes, session=True):
            kind = under(record.value, "type")
            if isinstance(kind, str) and (not known or kind in known):
                yield kind, record.value, record.where
            else:
                self.left_out[kind if isinstance(kind, str) and kind else "line without a type"] += 1

    def user(self, *parts: Part | str) -> None:
        """Add a user message. While calls are unanswered it is held back: results always come first."""
        made = [Part("user", part) if isinstance(part, str) else part for part in parts]
        if self._unanswered:
            self._waiting += made
        elif made:
            self._append(made)

    def response(
        self,
        parts: Iterable[Part],
        usage: Usage | None = None,
        time_s: float | None = None,
        model: str = "",
        comparable: bool = True,
        head: Head | None = None,
        held: int | None = None,
    ) -> None:
        """Add one whole response of the model, with what the source says of its request."""
        self._close_exchange()
        start = len(self.items)
        self._append(list(parts))
        self._unanswered = [item for item in self.items[start:] if item.kind == "tool_call"]
        self._calls.append(Call(start, len(self.items), usage, time_s, model, comparable, head, self.window, held))

    def inherited(self) -> int:
        """Turn all responses so far, copied from another session, into this session's first items, without calls.

        Return by how many places the newest items moved to the front, because a compaction removed others.
        """
        self._close_exchange()
        self.notes.append(f"begins with {self.calls} response(s) copied from another session, where they are counted")
        before, self.items = len(self.items), list(history(self.transcript()))
        self._message, self._carried = self.items[-1].message if self.items else 0, len(self.items)
        self._calls, self._beside, self.compactions, self._cleared, self._late = [], [], [], [], {}
        self.shortened = {}
        moved = before - len(self.items)
        self.place_of = {name: max(place - moved, 0) for name, place in self.place_of.items()}
        return moved

    def beside(self, usage: Usage | None, time_s: float | None, model: str, summary: bool = False) -> None:
        """Add a response paid for beside the conversation, or a `summary` that replaces the history so far."""
        if usage:
            at = len(self.items) if summary else 0
            self._beside.append(Call(at, at, usage, time_s, model, comparable=False))

    def totals(self, stated: Mapping[str, Usage], time_s: float | None, since: int | None = None) -> None:
        """Add a log's totals by model, those of sub-agents included. Without `since` they replace all usage recorded
        before; else they are of what follows the last totals and item `since`.
        """
        if since is None:
            self._calls = [msgspec.structs.replace(one, usage=None) for one in self._calls]
            self._beside = [one for one in self._beside if one.end <= one.start]
        start = max([since or 0, *(one.end for one in self._beside if one.end > one.start)])
        end = max(start + 1, len(self.items))
        self._beside += [Call(start, end, one, time_s, model, comparable=False) for model, one in stated.items()]

    def result(self, text: str, call_id: str = "", tool: str = "", media: tuple[Media, ...] = ()) -> None:
        """Add the result of a tool call of the last response, or a late result that replaces a synthetic one."""
        if call := self._take(call_id, tool):
            self._answer(call, text, media)
            if not self._unanswered:
                self._flush()
        elif call_id in self._late:
            place = self._late.pop(call_id)
            self.items[place] = msgspec.structs.replace(self.items[place], text=text, media=media)
            self._placeholders -= 1
            self.notes.append(f"the result of call {call_id} was recorded after the next response")
        else:
            self._orphans += 1

    def give(self, part: Part) -> None:
        """Add an input of the model: the result of a tool call, or a user message of one part."""
        if part.kind == "tool_result":
            self.result(part.text, part.call_id, part.tool, part.media)
        else:
            self.user(part)

    def message(self, role: str, content: Any, call_id: str = "", tool: str = "", vendor: str = "openai") -> None:
        """Add a message that the model didn't make, in the roles of the chat-completions API: a tool's result, a system
        text, which is part of the head or stands among user texts, or a user message.
        """
        text, media = text_and_media(content, vendor)
        of_system = role in ("system", "developer")
        if role in ("tool", "function"):
            self.result(text, call_id, tool, media)
        elif of_system and not self.calls:
            self.system.append(text)
        else:
            self.counts[LATER_SYSTEM] += of_system
            self.user(Part("user", text, media=media))

    def compacted(
        self,
        started_by: str | None = "",
        summary: Iterable[str] = (),
        kept: Iterable[int] = (),
        tokens_before: int | None = None,
        tokens_after: int | None = None,
        seconds: float | None = None,
        time_s: float | None = None,
    ) -> None:
        """Add a compaction: the recorded agent shortened its history here. An unknown starter becomes ''.

        Sources record one compaction in several records, so another one before the next response adds to the first.
        Before the first response there is no history to shorten: the summary then begins the recording, as user text.
        """
        if not self._calls:
            self.notes += [] if NO_HISTORY in self.notes else [NO_HISTORY]
            self.user(*filter(None, summary))
            return
        self._close_exchange()
        if not self.compacted_now:
            self.compactions.append(Compaction(self.calls + 1, len(self.items)))
        last = self.compactions[-1]
        self.compactions[-1] = msgspec.structs.replace(
            last,
            started_by=last.started_by or (started_by if started_by in ("auto", "manual", "overflow") else ""),
            summary=(*last.summary, *filter(None, summary)),
            kept=tuple(sorted({*last.kept, *(place for place in kept if place < last.at)})),
            tokens_before=tokens_before if last.tokens_before is None else last.tokens_before,
            tokens_after=tokens_after if last.tokens_after is None else last.tokens_after,
            seconds=seconds if last.seconds is None else last.seconds,
            time_s=time_s if last.time_s is None else last.time_s,
        )

    def cleared(self, place: int) -> None:
        """Note that requests from the next call on lack the text of the tool result at that place."""
        self._cleared.append((len(self._calls) + 1, place))

    def cleared_of(self, calls: Collection[str]) -> bool:
        """Note that requests from the next call on lack the results of these call ids. Return False, without a note,
        before the first response or if none of the results is there.
        """
        ids = frozenset(calls)
        found = [item.place for item in self.items if item.kind == "tool_result" and item.call_id in ids]
        for place in found if self._calls else ():
            self.cleared(place)
        return bool(found and self._calls)

    def shortening(self, what: str, detail: str = "") -> None:
        """Note that the history is shorter from the next call on, not by a compaction; the first detail counts."""
        key = self.calls + 1, what
        self.shortened[key] = self.shortened.get(key) or detail

    def finished(self) -> Transcript:
        """Return the transcript, with notes on what was shortened, counted and left out, and on a missing response."""
        compactions = {(one.call, "recorded compaction"): _detail(one) for one in self.compactions}
        for (call, what), detail in sorted((compactions | self.shortened).items()):
            self.notes.append(f"{what} before call {call}{detail and f' ({detail})'}")
        self.notes += [f"{count} {what}" for what, count in self.counts.items() if count]
        self.notes += [*left_out(+self.left_out), *([] if self._calls else [NO_RESPONSE])]
        return self.transcript()

    def transcript(self) -> Transcript:
        """Return the finished transcript. Calls of the last response may stay unanswered: no request follows."""
        self._flush()
        recorded = bool(self.system) if self.head_recorded is None else self.head_recorded
        priced = any(call.usage and call.usage.cost_usd for call in self._calls)
        notes = list(self.notes)
        if self._placeholders:
            notes.append(f"{self._placeholders} tool call(s) without a recorded result: '{NO_RESULT}' stands for it")
        if self._orphans:
            notes.append(f"{self._orphans} result(s) without a call left out")
        return Transcript(
            name=self.name, head=Head("\n\n".join(self.system), tuple(self.tools), recorded),
            items=tuple(self.items), calls=tuple(self._calls), format=self.format, parent=self.parent,
            notes=tuple(notes), compactions=tuple(self.compactions), cleared=tuple(self._cleared),
            carried=self._carried, cost_usd=None if priced else self.cost_usd, project=self.project,
            version=self.version, beside=tuple(self._beside),
        )  # fmt: skip

    def _take(self, call_id: str, tool: str) -> Item | None:
        calls = self._unanswered
        if call_id and any(call.call_id for call in calls):
            found = next((call for call in calls if call.call_id == call_id), None)
        else:
            same = (call for call in calls if not call_id and tool and call.tool == tool)
            found = next(chain(same, calls), None)
        if found:
            calls.remove(found)
        return found

    def _answer(self, call: Item, text: str, media: tuple[Media, ...] = ()) -> int:
        self._message += self.items[-1].kind != "tool_result"
        place = len(self.items)
        self.items.append(Item("tool_result", place, self._message, text, call.tool, call.place, call.call_id, media))
        return place

    def _append(self, parts: list[Part]) -> None:
        self._message += 1
        for place, part in enumerate(parts, len(self.items)):
            known = part.text, part.tool, None, part.call_id, part.media
            self.items.append(Item(part.kind, place, self._message, *known))

    def _flush(self) -> None:
        if self._waiting:
            self._append(self._waiting)
            self._waiting = []

    def _close_exchange(self) -> None:
        for call in self._unanswered:
            place = self._answer(call, NO_RESULT)
            self._placeholders += 1
            if call.call_id:
                self._late[call.call_id] = place
        self._unanswered = []
        self._flush()


def _detail(compaction: Compaction) -> str:
    tokens = "" if compaction.tokens_before is None else f"{compaction.tokens_before} tokens"
    return ", ".join(filter(None, [compaction.started_by, tokens]))


def left_out(counts: Mapping[str, int]) -> list[str]:
    """Return one note that names what was left out and how often, most frequent first; [] if nothing was."""
    told = ", ".join(f"{count} x {kind}" for kind, count in Frequencies(counts).most_common())
    return [f"left out: {told}"] if told else []


def kept_and_new(items: Sequence[Item], history: Iterable[tuple[Kind, str]]) -> tuple[list[int], list[str]]:
    """Return the places of recorded items that are in a new history, and the texts in it that are new.

    The history is given as kinds and texts. Of equal items the latest is taken: a compaction keeps the newest. Tool
    calls and results that aren't recorded are left out.
    """
    places: dict[tuple[Kind, str], list[int]] = {}
    for item in items:
        places.setdefault((item.kind, item.text), []).append(item.place)
    kept: list[int] = []
    new: list[str] = []
    for kind, text in reversed([*history]):
        found = places.get((kind, text))
        if found:
            kept.append(found.pop())
        elif kind in ("user", "assistant"):
            new.append(text)
    return sorted(kept), new[::-1]
