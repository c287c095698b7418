"""Messages of the chat-completions API, which most frameworks use, and logged responses with the provider's usage.

Documentation: https://platform.openai.com/docs/api-reference/chat; LiteLLM adds the cache fields of Anthropic, DeepSeek
its own (https://docs.litellm.ai/docs/completion/prompt_caching).
"""

from collections import Counter as Frequencies
from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import Assembly, Part, dollars, left_out, text_of
from ctxsim.readers.assembly.anthropic_content import Lifetimes, Served
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.source import compact_json, convert_all, has, under
from ctxsim.transcript import Usage

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}

CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "input_json_delta", "invalid_tool_call")
"""Types of blocks with which LangChain's content repeats the calls beside it, in the provider's own form."""


class Function(msgspec.Struct):
    """A called function; `arguments` is a JSON string, kept exactly as it is even if it isn't valid."""

    name: str
    arguments: Any = ""


class _Custom(Function):
    arguments: Any = msgspec.field(default="", name="input")


class ToolCall(msgspec.Struct):
    """One entry of `tool_calls`. Harnesses leave `function` out; logs have empty entries beside a call in the text.

    LangChain calls the arguments `args`.
    """

    function: Function | None = None
    custom: _Custom | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = ""
    args: Any = ""

    @property
    def called(self) -> Function | None:
        """The called function; None for an empty entry."""
        arguments = self.args if self.arguments in ("", None) else self.arguments
        return self.function or self.custom or (Function(self.name, arguments) if self.name else None)


def written_arguments(calls: Any) -> dict[str, str]:
    """Return the arguments as the model wrote them, by call id, of calls that are also kept in the provider's own form.

    Decoding loses the spaces, which are tokens. {} for calls in another form.
    """
    try:
        known = msgspec.convert(calls or [], list[ToolCall])
    except msgspec.ValidationError:
        return {}
    given = {call.id: call.function.arguments for call in known if call.id and call.function}
    return {name: arguments for name, arguments in given.items() if isinstance(arguments, str)}


class Reply(msgspec.Struct, kw_only=True):
    """A model's answer; older sources have a single `function_call`. DeepSeek adds `reasoning_content`, OpenRouter and
    vLLM call it `reasoning`."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    thinking_blocks: list[dict[str, Any]] | None = None

    def parts(self, said: list[Part] | None = None) -> list[Part]:
        """Return reasoning, text and tool calls; `said` replaces the text and the calls.

        LiteLLM repeats thinking blocks as `reasoning_content`, so only one of them is taken.
        """
        blocks = [str(block.get("thinking") or block.get("data") or "") for block in self.thinking_blocks or []]
        stated = self.reasoning_content or (self.reasoning if isinstance(self.reasoning, str) else "")
        reasoning = [stated] if stated else blocks
        return [*(Part("reasoning", text) for text in reasoning), *(self._said() if said is None else said)]

    def _said(self) -> list[Part]:
        content = self.content
        if self.tool_calls and isinstance(content, list):
            content = [block for block in content if not (has(block, type=str) and block["type"] in CALL_BLOCKS)]
        said = text_of(content) or self.refusal
        parts = [Part("assistant", said)] if said else []
        for call in [*(self.tool_calls or []), ToolCall(self.function_call)]:
            if function := call.called:
                parts.append(Part("tool_call", compact_json(function.arguments), function.name, call.id or ""))
        return parts


class Message(Reply, kw_only=True):
    """One chat message."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: str | None = None
    name: str | None = None


def add_messages(assembly: Assembly, values: list[Any], where: str) -> None:
    """Add chat messages to a transcript. Raises InputError with the message's number for one that doesn't fit."""
    for message in convert_all(values, Message, f"{where} message"):
        add_message(assembly, message)
    full = Frequencies(key for one in values for key, held in one.items() if held and isinstance(held, list | dict))
    unread = full.keys() - {*Message.__struct_fields__}
    assembly.notes += left_out({f"field {name} of a message": full[name] for name in sorted(unread)})


def add_message(assembly: Assembly, message: Message, model: str = "", at_s: float | None = None) -> None:
    """Add one chat message; each assistant message is a call."""
    if message.role == "assistant":
        empty = sum(call.called is None for call in message.tool_calls or [])
        assembly.left_out["empty entry of `tool_calls`"] += empty
        assembly.response(message.parts(), None, at_s, model)
    else:
        assembly.message(message.role, message.content, message.tool_call_id or "", message.name or "")


class Details(msgspec.Struct):
    """Token counts of parts of the prompt or of the output."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_creation_token_details: Lifetimes | None = None


class Paid(Served):
    """What OpenRouter states of a call's cost (https://openrouter.ai/docs/use-cases/usage-accounting)."""

    cost: Any = None
    is_byok: Any = None
    cost_details: Any = None

    @property
    def usd(self) -> float | None:
        """Dollars of the call. With the user's own key, `cost` is OpenRouter's fee alone."""
        upstream = dollars(under(self.cost_details, "upstream_inference_cost")) if self.is_byok is True else None
        return dollars((dollars(self.cost) or 0.0) + (upstream or 0.0))


class ChatUsage(Paid):
    """Usage of a chat completion; `prompt_tokens` is mostly the whole prompt, as for Anthropic's models by LiteLLM."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    cached_tokens: int | None = None
    """Tokens that Moonshot read from its cache."""

    def whole(self, cost: Any = None) -> Usage | None:
        """Return it as `Usage` of the whole prompt; None if the prompt's size is missing.

        `cost` is the cost that the log states beside the usage. It takes precedence over the usage's own.
        """
        if self.prompt_tokens is None:
            return None
        prompt, completion = self.prompt_tokens_details or Details(), self.completion_tokens_details or Details()
        reads = (self.cache_read_input_tokens, prompt.cached_tokens, self.prompt_cache_hit_tokens, self.cached_tokens)
        writes = (self.cache_creation_input_tokens, prompt.cache_write_tokens)
        read, written = (next((count for count in counts if count is not None), None) for counts in (reads, writes))
        made, reasoning = self.completion_tokens, completion.reasoning_tokens
        if made is not None and reasoning and self.total_tokens == self.prompt_tokens + made + reasoning:
            # xAI counts reasoning beside the completion.
            made += reasoning
        whole, cached = self.prompt_tokens, (read or 0) + (written or 0)
        rest = (self.total_tokens or 0) - whole - (made or 0)
        if 0 <= whole < cached or (rest > 0 and rest in (read, written, cached)):
            # Some proxies leave cached tokens out of the prompt.
            whole += rest if rest in (read, written, cached) else cached
        elif made is not None and not reasoning and not cached and rest > 0:
            # Gemini's thoughts may be in the total alone.
            made += rest
        kept = prompt.cache_creation_token_details
        long = kept.ephemeral_1h_input_tokens if kept else None
        return self.as_served(Usage(whole, made, read, written, reasoning, dollars(cost) or self.usd, long))


class _Choice(msgspec.Struct):
    message: Reply | None = None


class ChatResponse(msgspec.Struct):
    """A response; `created` is in epoch seconds, set by the server or by LiteLLM."""

    choices: list[_Choice] | None = None
    usage: ChatUsage | None = None
    id: str | None = None
    model: str | None = None
    created: float | None = None
    service_tier: Any = None

    def parts(self) -> list[Part]:
        """Return the parts of the first choice; [] if there is none."""
        first = self.choices[0].message if self.choices else None
        return first.parts() if first else []

    def whole_usage(self, cost: Any = None) -> Usage | None:
        """Return the usage, with how it was served, or None; `cost` is what the log states beside the response."""
        usage = self.usage.whole(cost) if self.usage else None
        return usage and as_served(usage, self.service_tier)
