"""One session of Goose: its messages as the requests and responses that they stand for."""

from collections.abc import Mapping

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, call_part, text_and_media
from ctxsim.readers.formats.goose.stored import Content, Message, Session, Spent, for_agent
from ctxsim.readers.source import under
from ctxsim.transcript import Media, StartedBy, Transcript

_STARTED: Mapping[str, StartedBy] = {
    "user's request": "manual", "no longer fits": "auto", "context limit": "auto",
}  # fmt: skip
"""By what the word to continue says, what started a compaction."""


def transcript(name: str, format: str, parent: str | None, session: Session) -> Transcript:
    """Return a session as a transcript."""
    return _Reading(Assembly(name, format, parent), session).all()


class _Reading:
    def __init__(self, assembly: Assembly, session: Session) -> None:
        self.assembly = assembly
        self.session = session
        self.skipped = assembly.left_out
        self.messages = _sent(session.messages)
        if unsent := len(session.messages) - len(self.messages):
            self.skipped["message that only the user sees"] = unsent
        self.responses = _responses(self.messages)
        # Each request of the conversation is one line of the ledger, or nobody knows which line is whose.
        self.spent = iter(session.spent if len(session.spent) == len(self.responses) else [])
        self.summarized = 0
        self.whole = True

    def all(self) -> Transcript:
        assembly, session = self.assembly, self.session
        assembly.window = session.model.context_limit
        number = 0
        while number < len(self.messages):
            number = self._one(number)
        if session.spent and len(session.spent) != len(self.responses):
            stored = f"where {len(self.responses)} response(s) are stored"
            assembly.notes.append(f"usage left out: the ledger has {len(session.spent)} request(s) {stored}")
        if not any(one.usage and one.usage.cost_usd for one in session.spent):
            assembly.cost_usd = session.cost_usd
        if self.summarized:
            what = "stand where they were written, and the calls that they replaced are kept"
            assembly.notes.append(f"{self.summarized} summary(s) of tool calls {what}")
        return assembly.finished("no response of the model in this session")

    def _one(self, number: int) -> int:
        """Read the message with that number, and what belongs to it; return the number of the next."""
        messages = self.messages
        message = messages[number]
        if _starts_over(messages, number):
            return self._compaction(number)
        if number in self.responses:
            return self._response(number, self.responses[number])
        if not message.shown.user_visible and message.only_text:
            self.summarized += 1
            self.whole = False
            self.assembly.user(message.text)
        else:
            self._user(message)
        return number + 1

    def _compaction(self, number: int) -> int:
        """A summary and the word to continue; a copy of the user's last text may follow, which then was kept."""
        assembly = self.assembly
        summary, word = self.messages[number : number + 2]
        after = self.messages[number + 2 : number + 3]
        copied = after[0].text if after and after[0].role == "user" and after[0].only_text else None
        kept = [item.place for item in assembly.items if item.kind == "user" and item.text == copied][-1:]
        started_by: StartedBy = next((by for sign, by in _STARTED.items() if sign in word.text), "")
        assembly.compacted(started_by, (summary.text, word.text), kept)
        assembly.compaction_note()
        self.whole = True
        return number + 2 + len(kept)

    def _user(self, message: Message) -> None:
        parts: list[Part] = []
        for piece in message.content:
            if not for_agent(piece.annotations):
                self.skipped["text for the user alone"] += 1
            elif piece.type == "text":
                parts.append(Part("user", piece.text))
            elif piece.type == "image":
                parts.append(Part("user", media=(Media("image", IMAGE_TOKENS["anthropic"]),)))
            elif piece.type == "toolResponse":
                self._result(piece)
            else:
                self.skipped[piece.type] += 1
        self.assembly.user(*parts)

    def _result(self, piece: Content) -> None:
        if piece.status == "error":
            self.assembly.result(piece.error or "", piece.id)
            return
        held = piece.result.get("content") if isinstance(piece.result, dict) else piece.result
        if isinstance(held, list):
            held = [one for one in held if for_agent(under(one, "annotations"))]
        text, media = text_and_media(held, IMAGE_TOKENS["anthropic"])
        self.assembly.result(text, piece.id, media=media)

    def _response(self, number: int, end: int) -> int:
        """A response in one or several messages, with the results between them."""
        messages = self.messages[number:end]
        parts: list[Part] = []
        for message in messages:
            for piece in message.content if message.role == "assistant" else ():
                parts += self._part(piece)
        spent = next(self.spent, Spent(self.session.model.model_name))
        model = spent.model or self.session.model.model_name
        self.assembly.response(parts, spent.usage, messages[0].time_s, model, self.whole)
        for message in messages:
            if message.role == "user":
                self._user(message)
        return end

    def _part(self, piece: Content) -> list[Part]:
        match piece.type:
            case "text":
                return [Part("assistant", piece.text)] if piece.text else []
            case "thinking" | "reasoning":
                return [Part("reasoning", piece.thinking or piece.text)]
            case "redactedThinking":
                return [Part("reasoning")]
            case "toolRequest" | "frontendToolRequest":
                return [call_part(under(piece.called, "name"), under(piece.called, "arguments"), piece.id)]
        self.skipped[piece.type] += 1
        return []


def _sent(messages: list[Message]) -> list[Message]:
    """Return the messages that were ever sent: behind the last compaction those that the agent sees.

    And those with tool calls and results: what hides them is a summary of theirs that was written later.
    """
    starts = (number for number in range(len(messages)) if _starts_over(messages, number))
    last = max(starts, default=-1)
    of_tools = ("toolRequest", "frontendToolRequest", "toolResponse")
    return [
        message
        for number, message in enumerate(messages)
        if number < last or message.shown.agent_visible or any(piece.type in of_tools for piece in message.content)
    ]


def _starts_over(messages: list[Message], number: int) -> bool:
    """Whether a compaction's two messages stand here: a summary as the user's, and the assistant's word to go on."""
    both = messages[number : number + 2]
    hidden = all(message.only_text and not message.shown.user_visible for message in both)
    return hidden and [message.role for message in both] == ["user", "assistant"]


def _responses(messages: list[Message]) -> dict[int, int]:
    """Return where each response begins, and the number of the message after it and its results."""
    found: dict[int, int] = {}
    number = 0
    while number < len(messages):
        if _starts_over(messages, number):
            number += 2
            continue
        if messages[number].role != "assistant" or not _says_something(messages[number]):
            number += 1
            continue
        start, own = number, messages[number].id
        number += 1
        while number < len(messages) and _goes_on(messages, number, own):
            number += 1
        found[start] = number
    return found


def _goes_on(messages: list[Message], number: int, own: str) -> bool:
    """Whether a message is of the response with that id, or a result of its calls."""
    message = messages[number]
    if message.role == "assistant":
        return _says_something(message) and (message.id == own or messages[number - 1].role == "assistant")
    return any(piece.type == "toolResponse" for piece in message.content)


def _says_something(message: Message) -> bool:
    return any(piece.type not in ("systemNotification", "actionRequired") for piece in message.content)
