"""LangChain: edits of ContextEditingMiddleware, SummarizationMiddleware, and trim_messages.

Tried with 1.4.7, core 1.7.2. As in its agents, middlewares don't get the system prompt, and the approximate counter
counts.
"""

from collections.abc import Sequence
from typing import Any

from ctxsim.counting.estimators.serialized import handed
from ctxsim.policies.foreign.conversation import Message, call_of, calls_in, without_head
from ctxsim.policies.foreign.framework import Framework, Scribe, asking
from ctxsim.policies.foreign.shortener import Session

ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def there(messages: Sequence[Message]) -> list[Any]:
    """Return the messages as LangChain's."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    found: list[Any] = []
    for message in messages:
        same = {"content": message["content"], "id": message["id"]}
        if message["role"] == "tool":
            found.append(ToolMessage(tool_call_id=message["tool_call_id"], name=message["name"] or None, **same))
        elif message["role"] == "assistant":
            calls = [
                {"name": tool, "args": handed(text), "id": name, "type": "tool_call"}
                for name, tool, text in calls_in(message)
            ]
            found.append(AIMessage(tool_calls=calls, **same))
        else:
            found.append(SystemMessage(**same) if message["role"] == "system" else HumanMessage(**same))
    return found


def back(messages: Sequence[Any]) -> list[Message]:
    """Return LangChain's messages in OpenAI's form."""
    found: list[Message] = []
    for one in messages:
        message: Message = {"id": one.id, "role": ROLES[one.type], "content": one.content}
        if one.type == "tool":
            message["tool_call_id"] = one.tool_call_id
        elif one.type == "ai" and one.tool_calls:
            message["tool_calls"] = [call_of(call["id"], call["name"], call["args"]) for call in one.tool_calls]
        found.append(message)
    return found


def model(scribe: Scribe) -> Any:
    """Return a chat model that passes every request to the scribe."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Stub(BaseChatModel):  # type: ignore[misc]
        @property
        def _llm_type(self) -> str:
            return "ctxsim"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            text = scribe.ask("\n".join(str(message.content) for message in messages))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    return Stub()


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that runs an edit, a middleware with `before_model`, or trim_messages for one transcript."""
    from langchain_core.messages import RemoveMessage
    from langchain_core.messages.utils import count_tokens_approximately

    if not isinstance(cls, type):

        def trimmed(messages: list[Message]) -> Sequence[Message]:
            return back(cls(there(messages), token_counter=count_tokens_approximately, **given))

        return asking(trimmed, scribe)
    if hasattr(cls, "apply"):
        if isinstance(given.get("exclude_tools"), str):
            given = given | {"exclude_tools": (given["exclude_tools"],)}
        edit = cls(**given)

        def cleared(messages: list[Message]) -> Sequence[Message]:
            head, rest = without_head(messages)
            edited = there(rest)
            edit.apply(edited, count_tokens=count_tokens_approximately)
            return head + back(edited)

        return asking(cleared, scribe)
    middleware = cls(model(scribe), **given)

    def summarized(messages: list[Message]) -> Sequence[Message] | None:
        head, rest = without_head(messages)
        update = middleware.before_model({"messages": there(rest)}, None)
        if update is None:
            return None
        return head + back([one for one in update["messages"] if not isinstance(one, RemoveMessage)])

    return asking(summarized, scribe)


FRAMEWORK = Framework(
    "langchain", "langchain",
    ("langchain.agents.middleware.context_editing", "langchain.agents.middleware.summarization",
     "langchain_core.messages"),
    session, lambda cls: hasattr(cls, "before_model"),
    frozenset({"model", "messages", "token_counter", "summarizer", "text_splitter", "summary_prompt"}),
)  # fmt: skip
