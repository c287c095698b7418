"""A framework's own class as a policy: `langchain:ClearToolUsesEdit:trigger=8000,keep=3`.

The label names the framework's class or function and its own parameters. Nothing of a framework is imported unless a
label asks for it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ctxsim.errors import ContractError, LabelError, unknown
from ctxsim.plugins import labels
from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.mapping import MAX_TOKENS, SUMMARY, content_of
from ctxsim.policies.foreign.shortener import Answer, Context, Parameter, Session, Written, shortener
from ctxsim.policies.policy import Policy
from ctxsim.transcript import Item

T = TypeVar("T")

MOST_SUMMARIES = 20
"""Most summaries that a framework may request in one call. More is an endless loop."""


class Framework(NamedTuple):
    """How one framework is driven. `lasting`: whether messages returned by a class are the history from then on."""

    prefix: str
    install: str
    modules: tuple[str, ...]
    session: Callable[[Any, dict[str, Any], Scribe], Session]
    lasting: Callable[[Any], bool]
    supplied: frozenset[str] = frozenset()
    """Parameters that ctxsim supplies, and a label can't: models, counters, messages."""
    retries: int | None = None
    """How often it sends a refused request again; None: the default of policies."""


class Scribe:
    """Stands for the model from which a framework requests summaries. It answers with a marker. Once the items that the
    marker stands for are known, ctxsim's own summarizer writes the text, and the provider bills it.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._asked: list[tuple[str, str]] = []
        self._texts: dict[str, str] = {}

    def ask(self, shown: str) -> str:
        """Return a marker for a summary of the text `shown`. Raises ContractError after `MOST_SUMMARIES` in a call."""
        if len(self._asked) >= MOST_SUMMARIES:
            raise ContractError(f"asks for more than {MOST_SUMMARIES} summaries at one call")
        marker = f"[[summary {len(self._texts) + len(self._asked) + 1}]]"
        self._asked.append((marker, shown))
        return marker

    def written(self, messages: Sequence[Message]) -> Answer:
        """Return one call's messages with markers made into requests for a summary, and the summarizer for these."""
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

        # A summary that no message uses is billed too. Only the text that was shown is known, not its items.
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
    """Return a session that calls a framework's function before each call, with summaries through a scribe."""

    def asked(messages: list[Message], context: Context) -> Answer:
        answer = function(messages)
        return None if answer is None else scribe.written(answer)

    return Session(asked)


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result, also inside a running event loop, as in a notebook."""
    # Imported here, because these two take longer to import than all of this folder.
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def opened(framework: Framework, rest: str) -> tuple[str, type[Policy], dict[str, str]]:
    """Return the name, class and raw parameters of the policy that a label names after a framework's prefix.

    Raises LabelError if the framework isn't installed, UnknownName for a class that it doesn't have.
    """
    target, given = labels.split(rest)
    name = f"{framework.prefix}:{target}"
    cls = _found(framework, target)
    estimator = {key: given.pop(key) for key in ("estimator",) if key in given}
    parameters = tuple(_parameters(framework, name, cls, given))
    doc = f"{target} of {framework.install}, driven as it is."
    acts = {"per_request": not framework.lasting(cls), "shows_reasoning": False, "retries": framework.retries}
    policy = shortener(name, doc, parameters, _session, (framework, cls), **acts)
    return name, policy, given | estimator


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
    """Return a parameter's value: a number, True, False, None or a text; parts separated by `:` are a tuple."""
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
    """The class's parameters: numbers and switches with their defaults, others if required or given in the label."""
    known = {
        one.name: one
        for one in inspect.signature(cls).parameters.values()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name not in framework.supplied
    }
    for key in given:
        if key not in known:
            raise LabelError(f"{name}: {unknown('parameter', key, known)}")
    for one in known.values():
        # A framework may accept None for a number; such a parameter is passed as text, which `literal` converts.
        if type(one.default) in (bool, int, float) and given.get(one.name, "").lower() != "none":
            yield one.name, type(one.default), one.default
        elif one.default is one.empty or one.name in given:
            yield one.name, str, dataclasses.MISSING
