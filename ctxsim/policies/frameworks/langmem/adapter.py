"""LangMem: summarize_messages. Tried with 0.0.30.

It is called for each request, with its earlier summary. LangChain's approximate counter counts.
"""

from collections.abc import Sequence
from typing import Any

from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.framework import Framework, Scribe, asking
from ctxsim.policies.foreign.shortener import Session
from ctxsim.policies.frameworks.langchain.adapter import back, model, there


def session(function: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that calls the function with its running summary for one transcript."""
    stub = model(scribe)
    running: Any = None

    def summarized(messages: list[Message]) -> Sequence[Message]:
        nonlocal running
        result = function(there(messages), running_summary=running, model=stub, **given)
        running = result.running_summary
        return back(result.messages)

    return asking(summarized, scribe)


FRAMEWORK = Framework(
    "langmem", "langmem", ("langmem.short_term",), session, lambda function: False,
    frozenset({"messages", "running_summary", "model", "token_counter", "initial_summary_prompt",
               "existing_summary_prompt", "final_prompt"}),
)  # fmt: skip
