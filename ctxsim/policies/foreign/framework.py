"""A framework's own class as a policy: `langchain:ClearToolUsesEdit:trigger=8000,keep=3`.

The label names the framework's class or function and its own parameters. Nothing of a framework is imported unless a
label asks for it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from ctxsim.errors import ContractError, LabelError, unknown
from ctxsim.plugins import labels
from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.mapping import MAX_TOKENS, SUMMARY, content_of
from ctxsim.policies.foreign.shortener import Answer, Context, Parameter, Session, Shorten, Written, shortener
from ctxsim.policies.policy import Policy
from ctxsim.transcript import Item

T = TypeVar("T")

MOST_SUMMARIES = 20
"""That one call may ask for: who asks for more asks again and again."""


class Framework(NamedTuple):
    """How one framework is driven. `lasting` says of a class whether what it returns is the history from then on."""

    prefix: str
    install: str
    modules: tuple[str, ...]
    session: Callable[[Any, dict[str, Any], Scribe], Session]
    lasting: Callable[[Any], bool]
    supplied: frozenset[str] = frozenset()
    """Parameters that ctxsim gives: models, counters, messages."""
    retries: int | None = None
    """How often it sends a refused request again; None for as often as any policy."""


class Scribe:
    """Stands for the model that a framework asks for summaries: answers with a marker, for which ctxsim's own
    summarizer writes the text, and the provider bills it, once what the marker stands for is known.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._asked: list[tuple[str, str]] = []
        self._texts: dict[str, str] = {}

    def ask(self, shown: str) -> str:
        """Return a marker in place of a summary of what is shown. Raises ContractError where it is asked too often."""
        if len(self._asked) >= MOST_SUMMARIES:
            raise ContractError(f"asks for more than {MOST_SUMMARIES} summaries at one call")
        marker = f"[[summary {len(self._texts) + len(self._asked) + 1}]]"
        self._asked.append((marker, shown))
        return marker

    def written(self, messages: Sequence[Message]) -> Answer:
        """Return the messages of one call with their markers made into requests for a summary, and who writes those."""
        asked, self._asked = self._asked, []
        pending: list[str] = []
        answer = [self._resolved(message, [marker for marker, _ in asked], pending) for message in messages]
        if not asked:
            return answer
        write = self.policy.sees.summarize

        def summarize(items: Iterable[Item], max_tokens: int) -> str | None:
            text = write(items, max_tokens)
            if text is not None:
                self._texts[pending.pop(0)] = text
            return text

        # What was asked for in vain costs all the same; of its items only the text is known.
        for marker, shown in asked:
            if marker not in pending:
                self._texts[marker] = write([Item("note", -1, -1, shown)], MAX_TOKENS) or ""
        return Written(answer, summarize)

    def _resolved(self, message: Message, asked: Sequence[str], pending: list[str]) -> Message:
        content = content_of(message)
        if "[[summary " not in content:
            return message
        for marker, text in self._texts.items():
            content = content.replace(marker, text)
        for marker in asked:
            if marker in content and marker not in pending:
                pending.append(marker)
                message = message | {"summarize": True}
                content = content.replace(marker, SUMMARY, 1)
                break
        return message | {"content": content}


def asking(function: Callable[[list[Message]], Sequence[Message] | None], scribe: Scribe) -> Session:
    """Return a session that asks a framework's function before each call; summaries through a scribe."""

    def asked(messages: list[Message], context: Context) -> Answer:
        answer = function(messages)
        return None if answer is None else scribe.written(answer)

    return Shorten(asked)


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, wherever this is called from: a notebook has a loop of its own."""
    # Not before a framework is used: these two take longer to import than all of this folder.
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def opened(framework: Framework, rest: str) -> tuple[str, type[Policy], dict[str, str]]:
    """Return what a framework's prefix is followed by as a policy: its name, class and raw parameters.

    Raises LabelError where the framework isn't installed, UnknownName for a class that it doesn't have.
    """
    target, given = labels.split(rest)
    name = f"{framework.prefix}:{target}"
    cls = _found(framework, target)
    estimator = {key: given.pop(key) for key in ("estimator",) if key in given}
    parameters = tuple(_parameters(framework, name, cls, given))
    doc = f"{target} of {framework.install}, driven as it is."
    made = _made(framework, cls)
    policy = shortener(name, doc, parameters, made, not framework.lasting(cls), False, framework.retries)
    return name, policy, given | estimator


@cache
def _made(framework: Framework, cls: Any) -> Callable[[Policy], Session]:
    return partial(_session, framework, cls)


def _session(framework: Framework, cls: Any, policy: Policy) -> Session:
    given = labels.parameters(policy)
    values = {name: literal(value) if isinstance(value, str) else value for name, value in given.items()}
    return framework.session(cls, values, Scribe(policy))


def _found(framework: Framework, target: str) -> Any:
    known: dict[str, Any] = {}
    for name in framework.modules:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise LabelError(
                f"{framework.prefix}:{target} needs {framework.install}: pip install {framework.install} ({error})"
            ) from None
        known |= {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    if target not in known:
        raise unknown(f"class of {framework.install}", target, known)
    return known[target]


def literal(text: str) -> Any:
    """Return what a parameter means: a number, true, false, none, a text; parts with `:` between them are a tuple."""
    return tuple(map(_value, text.split(":"))) if ":" in text else _value(text)


def _value(text: str) -> Any:
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _parameters(framework: Framework, name: str, cls: Any, given: dict[str, str]) -> Iterator[Parameter]:
    """The class's own parameters: plain ones with their defaults, others only where the label gives them."""
    known = {
        one.name: one
        for one in inspect.signature(cls).parameters.values()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name not in framework.supplied
    }
    for key in given:
        if key not in known:
            raise LabelError(f"{name}: {unknown('parameter', key, known)}")
    for one in known.values():
        # `none` isn't a number, but a framework may take it for one.
        if type(one.default) in (bool, int, float) and given.get(one.name, "").lower() != "none":
            yield one.name, type(one.default), one.default
        elif one.default is one.empty or one.name in given:
            yield one.name, str, dataclasses.MISSING
