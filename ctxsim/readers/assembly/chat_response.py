"""A chat-completions response as clients log it: its parts, its model, and the provider's usage.

Documentation: https://platform.openai.com/docs/api-reference/chat/object; LiteLLM adds the cache fields of Anthropic,
DeepSeek its own (https://docs.litellm.ai/docs/completion/prompt_caching).
"""

from typing import Any

import msgspec

from ctxsim.readers.assembly import Part
from ctxsim.readers.assembly.anthropic_content import Lifetimes
from ctxsim.readers.assembly.chat_messages import Reply
from ctxsim.readers.assembly.numbers import dollars
from ctxsim.readers.source import time_s
from ctxsim.transcript import Usage


class Details(msgspec.Struct):
    """Parts of the prompt or of what was answered."""

    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_creation_token_details: Lifetimes | None = None


class ChatUsage(msgspec.Struct):
    """Usage of a chat completion; `prompt_tokens` is the whole prompt, also where LiteLLM asked Anthropic."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: Any = None
    """Dollars of the call, as OpenRouter states them."""

    def whole(self) -> Usage | None:
        """The same as tokens of the whole prompt and its cached parts; None if the prompt's size is missing."""
        if self.prompt_tokens is None:
            return None
        prompt, completion = self.prompt_tokens_details or Details(), self.completion_tokens_details or Details()
        reads = (self.cache_read_input_tokens, prompt.cached_tokens, self.prompt_cache_hit_tokens)
        read = next((tokens for tokens in reads if tokens is not None), None)
        written, reasoning = self.cache_creation_input_tokens, completion.reasoning_tokens
        kept = prompt.cache_creation_token_details
        long = kept.ephemeral_1h_input_tokens if kept else None
        usd = dollars(self.cost)
        return Usage(self.prompt_tokens, self.completion_tokens, read, written, reasoning, usd, long)


class _Choice(msgspec.Struct):
    message: Reply | None = None


class ChatResponse(msgspec.Struct):
    """A response; `created` is in epoch seconds, set by the server or by LiteLLM."""

    choices: list[_Choice] | None = None
    usage: ChatUsage | None = None
    id: str | None = None
    model: str | None = None
    created: float | None = None

    def parts(self) -> list[Part]:
        """Return the parts of the first answer."""
        first = self.choices[0].message if self.choices else None
        return first.parts() if first else []

    def whole_usage(self) -> Usage | None:
        """Return the usage, or None."""
        return self.usage.whole() if self.usage else None


def epoch_s(time: str | float | None) -> float | None:
    """Return epoch seconds of a number of seconds or an ISO 8601 text; None if it is neither."""
    return time_s(time) if isinstance(time, str) else time
