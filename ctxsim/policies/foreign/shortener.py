"""Policies that run code over messages in this process: a user's function or a framework's class."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, cast

import msgspec

from ctxsim.errors import ContractError
from ctxsim.policies.foreign.conversation import Conversation, Message
from ctxsim.policies.foreign.mapping import Summarize, edited
from ctxsim.policies.policy import Overflow, Policy, Stop, Surroundings
from ctxsim.transcript import Usage
from ctxsim.view import View


class Context(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a foreign policy sees besides the messages, in tokens. Estimates are those of the label's estimator."""

    window: int
    estimate: int
    """Estimated tokens of the whole request, head included."""
    head_tokens: int
    call: int
    """Number of the call, from 1."""
    usage: Usage | None = None
    """The provider's count of the last accepted request."""


def context_of(sees: Surroundings, view: View, call: int) -> Context:
    """Return what a foreign policy may see besides the messages of a view."""
    return Context(sees.window, sees.estimate(view), sees.estimator.head(sees.head), call, sees.usage)


class Written(msgspec.Struct, frozen=True):
    """Messages with a summarizer of their own for the summaries that they request."""

    messages: Sequence[Message]
    summarize: Summarize


Answer = Sequence[Message] | Written | Stop | None
"""Messages; `Stop`; or None, which leaves the view unchanged."""


class Session:
    """Foreign code and its state for one transcript: a function that returns the messages to send at a call.

    If there is a system prompt, it is the first message.
    """

    def __init__(self, before_call: Callable[[list[Message], Context], Answer]) -> None:
        self.before_call = before_call

    def on_overflow(self, messages: list[Message], context: Context) -> Answer:
        """Return fewer messages after the provider refused these, or None to give up, as by default."""
        return None


class Shortener(Policy):
    """A policy that runs a session. The returned messages are the view from then on, or for one request only."""

    others_code: ClassVar[bool] = True
    made: ClassVar[Callable[[Policy], Session]]
    """Returns a transcript's session. Its argument is the policy, whose parameters it reads."""
    shows_reasoning: ClassVar[bool] = False
    """Whether the code sees the model's reasoning. If so, missing reasoning is dropped."""

    @property
    def ephemeral(self) -> bool:
        return not getattr(self, "lasting", not self.per_request)

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
        if not isinstance(messages, list | tuple):
            raise ContractError(f"must return a list of messages, not {type(messages).__name__}")
        if wrong := [type(one).__name__ for one in messages if not isinstance(one, Mapping)]:
            raise ContractError(f"must return messages, each a dict, not {wrong[0]}")
        reasoning = self.shows_reasoning
        return edited(self._conversation, view, messages, self.name, written.summarize, sees.head, reasoning)


Parameter = tuple[str, Any, Any]
"""A label's parameter: name, type, default (dataclasses.MISSING where there is none)."""


@cache
def shortener(
    name: str,
    doc: str,
    parameters: tuple[Parameter, ...],
    session: Callable[..., Session],
    of: tuple[Hashable, ...],
    **attributes: Hashable,
) -> type[Policy]:
    """Return a policy class of that name whose parameters are the foreign code's own. Equal calls give one class.

    `session` returns a transcript's session, called with those in `of`, and the policy. `attributes` are the class's.
    """
    # A parameter may have the name of a policy's attribute, such as `threshold` or `end`: its field gets another name.
    # `made` is set only below.
    fields = []
    for key, kind, default in sorted(parameters, key=lambda one: one[2] is not dataclasses.MISSING):
        called = f"{key}_" if hasattr(Shortener, key) or key == "made" else key
        fields.append((called, kind, dataclasses.field(default=default, metadata={"label": key})))
    space = {"name": name, "__doc__": doc, "made": staticmethod(partial(session, *of)), **attributes}
    return cast(type[Policy], dataclasses.make_dataclass("Foreign", fields, bases=(Shortener,), namespace=space))
