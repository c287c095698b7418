"""Microsoft Agent Framework: compaction strategies, through apply_compaction. Tried with agent-framework-core 1.23.0.

As in its sessions, one list grows through the conversation. Messages that a strategy removed stay in it, marked.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ctxsim.policies.foreign.conversation import Message, call_of, calls_in
from ctxsim.policies.foreign.framework import Framework, Scribe, asking, finished
from ctxsim.policies.foreign.shortener import Session


def there(message: Message) -> Any:
    """Return a message as Agent Framework's."""
    from agent_framework import Content
    from agent_framework import Message as Theirs

    contents: list[Any] = []
    if message["role"] == "tool":
        contents.append(Content.from_function_result(message["tool_call_id"], result=message["content"]))
    else:
        if message["content"] or not message.get("tool_calls"):
            contents.append(Content.from_text(message["content"]))
        for name, tool, arguments in calls_in(message):
            contents.append(Content.from_function_call(name, tool, arguments=arguments))
    return Theirs(message["role"], contents, message_id=message["id"])


def back(one: Any) -> Message:
    """Return one of Agent Framework's messages in OpenAI's form."""
    message: Message = {"id": one.message_id, "role": str(one.role), "content": one.text}
    for content in one.contents:
        if content.type == "function_result":
            message |= {"tool_call_id": content.call_id, "content": str(content.result)}
        elif content.type == "function_call":
            calls = message.setdefault("tool_calls", [])
            calls.append(call_of(content.call_id, content.name, content.arguments))
    return message


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that runs a strategy for one transcript."""
    from agent_framework import CharacterEstimatorTokenizer, apply_compaction

    class Client:
        async def get_response(self, messages: Any, **more: Any) -> Any:
            return SimpleNamespace(text=scribe.ask("\n".join(message.text for message in messages)))

    names = set(cls.__init__.__code__.co_varnames)
    tokenizer = CharacterEstimatorTokenizer()
    supplied = {"tokenizer": tokenizer} if "tokenizer" in names else {}
    supplied |= {"client": Client()} if "client" in names else {}
    strategy = cls(**supplied, **given)
    history: list[Any] = []
    known: set[str] = set()

    def compacted(messages: list[Message]) -> Sequence[Message]:
        new = [message for message in messages if message["id"] not in known]
        history.extend(map(there, new))
        known.update(message["id"] for message in new)
        return list(map(back, finished(apply_compaction(history, strategy=strategy, tokenizer=tokenizer))))

    return asking(compacted, scribe)


FRAMEWORK = Framework(
    "agent-framework", "agent-framework-core", ("agent_framework", "agent_framework._compaction"), session,
    lambda cls: False, frozenset({"tokenizer", "client", "strategies"}),
)  # fmt: skip
