"""AutoGen: the model contexts of autogen-core. Tried with 0.7.5.

For each request, a new context gets the whole conversation without the system prompt. If it needs a counter of tokens,
the label's estimator counts.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ctxsim.policies.foreign.conversation import Message, call_of, calls_in, packed, without_head
from ctxsim.policies.foreign.framework import Framework, Scribe, asking, finished
from ctxsim.policies.foreign.shortener import Session


def there(messages: Sequence[Message]) -> list[Any]:
    """Return the messages as AutoGen's: the results that answer one response are one."""
    from autogen_core import FunctionCall
    from autogen_core import models as theirs

    found: list[Any] = []
    for run in packed(messages):
        message = run[0]
        if message["role"] == "tool":
            results = [
                theirs.FunctionExecutionResult(content=one["content"], name=one["name"], call_id=one["tool_call_id"])
                for one in run
            ]
            found.append(theirs.FunctionExecutionResultMessage(content=results))
        elif calls := calls_in(message):
            content = [FunctionCall(id=name, name=tool, arguments=arguments) for name, tool, arguments in calls]
            thought = message["content"] or None
            found.append(theirs.AssistantMessage(content=content, thought=thought, source="assistant"))
        elif message["role"] == "assistant":
            found.append(theirs.AssistantMessage(content=message["content"], source="assistant"))
        else:
            found.append(theirs.UserMessage(content=message["content"], source="user"))
    return found


def back(messages: Sequence[Any]) -> list[Message]:
    """Return AutoGen's messages in OpenAI's form."""
    found: list[Message] = []
    for one in messages:
        if one.type == "FunctionExecutionResultMessage":
            found += [{"role": "tool", "tool_call_id": each.call_id, "content": each.content} for each in one.content]
        elif one.type == "AssistantMessage" and not isinstance(one.content, str):
            calls = [call_of(call.id, call.name, call.arguments) for call in one.content]
            found.append({"role": "assistant", "content": one.thought or "", "tool_calls": calls})
        else:
            role = {"AssistantMessage": "assistant", "SystemMessage": "system"}.get(one.type, "user")
            found.append({"role": role, "content": one.content})
    return found


def _client(scribe: Scribe) -> Any:
    """A stand-in for a model's client, which counts tokens for a context by the label's estimator."""
    count = scribe.policy.sees.estimator.text

    def tokens(messages: Sequence[Any], **more: Any) -> int:
        said = back(messages)
        calls = (count(tool) + count(arguments) for one in said for _, tool, arguments in calls_in(one))
        return sum(count(one["content"]) for one in said) + sum(calls)

    return SimpleNamespace(
        count_tokens=tokens, remaining_tokens=lambda messages, **more: scribe.policy.sees.window - tokens(messages)
    )


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that runs a model context for one transcript."""
    if "TokenLimited" in cls.__name__:
        given = given | {"model_client": _client(scribe)}

    def asked(messages: list[Message]) -> Sequence[Message]:
        head, rest = without_head(messages)
        return head + back(finished(cls(**given, initial_messages=there(rest)).get_messages()))

    return asking(asked, scribe)


FRAMEWORK = Framework(
    "autogen", "autogen-core", ("autogen_core.model_context",), session, lambda cls: False,
    frozenset({"initial_messages", "model_client", "tool_schema"}),
)  # fmt: skip
