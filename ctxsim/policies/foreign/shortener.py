"""A policy whose rule is code over messages, in this process: a user's function or a framework's class."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, cast

import msgspec

from ctxsim.errors import ContractError
from ctxsim.policies.foreign.conversation import Conversation, Message
from ctxsim.policies.foreign.mapping import Summarize, edited
from ctxsim.policies.policy import Overflow, Policy, Stop, Surroundings
from ctxsim.transcript import Usage
from ctxsim.view import View


class Context(msgspec.Struct, frozen=True, omit_defaults=True):
    """What else a foreign policy may know: all in tokens, all but `usage` estimated by the label's estimator."""

    window: int
    estimate: int
    """Of the whole request, head included."""
    head_tokens: int
    call: int
    """From 1."""
    usage: Usage | None = None
    """What the provider counted of the last accepted request."""


def context_of(sees: Surroundings, view: View, call: int) -> Context:
    """Return what may be known besides the messages of a view."""
    return Context(sees.window, sees.estimate(view), sees.estimator.head(sees.head), call, sees.usage)


class Written(msgspec.Struct, frozen=True):
    """Messages with summaries that somebody else than the provider's summarizer is to be asked for."""

    messages: Sequence[Message]
    summarize: Summarize


Answer = Sequence[Message] | Written | Stop | None
"""Messages; `Stop`; or None, which leaves things as they are."""


class Session(Protocol):
    """One transcript's worth of foreign code."""

    def before_call(self, messages: list[Message], context: Context) -> Answer:
        """Return what to send of these messages, the system prompt first."""

    def on_overflow(self, messages: list[Message], context: Context) -> Answer:
        """The provider has refused these: return fewer, or None to give up."""


class Shorten:
    """A session that is one function, which acts before each call alone."""

    def __init__(self, function: Callable[[list[Message], Context], Answer]) -> None:
        self.before_call = function

    def on_overflow(self, messages: list[Message], context: Context) -> Answer:
        """Return None: it gives up."""
        return None


@dataclass
class Shortener(Policy):
    """A policy by a session: what comes back from it is the view from then on, or of one request only."""

    others_code: ClassVar[bool] = True
    made: ClassVar[Callable[[Policy], Session]]
    """Makes a transcript's session out of the parameters."""
    shows_reasoning: ClassVar[bool] = False
    """Whether the code is shown the model's reasoning, so that leaving it out means something."""

    @property
    def ephemeral(self) -> bool:
        return bool(getattr(self, "lasting", not self.per_request)) is False

    def start(self) -> None:
        self._conversation = Conversation()
        self._session = type(self).made(self)
        self._call = 0

    def before_call(self, view: View) -> View | Stop:
        self._call += 1
        return self._acted(view, self._session.before_call)

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        acted = self._acted(view, self._session.on_overflow)
        return None if isinstance(acted, Stop) else acted

    def _acted(self, view: View, act: Callable[[list[Message], Context], Answer]) -> View | Stop:
        sees = self.sees
        answer = act(self._conversation.messages(view, sees.head), context_of(sees, view, self._call))
        if answer is None or isinstance(answer, Stop):
            return view if answer is None else answer
        written = answer if isinstance(answer, Written) else Written(answer, sees.summarize)
        messages = written.messages
        if not isinstance(messages, list | tuple) or not all(isinstance(message, Mapping) for message in messages):
            raise ContractError(f"must return a list of messages, not {type(messages).__name__}")
        reasoning = self.shows_reasoning
        return edited(self._conversation, view, messages, self.name, written.summarize, sees.head, reasoning)


Parameter = tuple[str, Any, Any]
"""A label's parameter: name, type, default (dataclasses.MISSING where there is none)."""


@cache
def shortener(
    name: str,
    doc: str,
    parameters: tuple[Parameter, ...],
    made: Callable[[Policy], Session],
    per_request: bool,
    shows_reasoning: bool,
    retries: int | None = None,
) -> type[Policy]:
    """Return a policy class of that name whose parameters are the foreign code's own. Equal calls give one class."""
    # What it calls its parameters is its affair: `threshold` or `end` are something else of a policy.
    fields = [
        (
            f"{key}_" if hasattr(Shortener, key) else key,
            kind,
            dataclasses.field(default=default, metadata={"label": key}),
        )
        for key, kind, default in sorted(parameters, key=lambda one: one[2] is not dataclasses.MISSING)
    ]
    space = {
        "name": name, "__doc__": doc, "made": staticmethod(made), "per_request": per_request,
        "shows_reasoning": shows_reasoning, "retries": retries,
    }  # fmt: skip
    return cast(type[Policy], dataclasses.make_dataclass("Foreign", fields, bases=(Shortener,), namespace=space))
