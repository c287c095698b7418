"""The fields of an ATIF document, and the data in it that only ctxsim knows.

Source of the fields: Harbor 0.25.0, `harbor/models/trajectories/*.py` (schema ATIF-v1.8).
"""

from typing import Any

import msgspec
from msgspec import field

from ctxsim.transcript import Call, Compaction, Needle

VERSION = "ATIF-v1.7"
"""The version that is written. v1.7 is the first one whose tool calls and results may have extra fields."""

OURS = "ctxsim"
"""The key under `extra` for data that the schema has no field for."""

BOUNDARY = {"type": "compaction", "boundary": "replace"}
"""`extra.context_management` of the step where Harbor's own agent replaced its history by a summary."""


class ToolCall(msgspec.Struct):
    """A tool call; its arguments are an object."""

    tool_call_id: str | None = None
    function_name: str = ""
    arguments: Any = None
    extra: dict[str, Any] | None = None


class Result(msgspec.Struct):
    """A result; without a call's id if the agent's actions are no tool calls."""

    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: list[Any] | None = None
    extra: dict[str, Any] | None = None


class Step(msgspec.Struct):
    """One step. Only an agent's has reasoning, calls and metrics; `prompt_tokens` is the whole prompt."""

    source: str
    message: Any = ""
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    results: list[Result] = field(default=[], name="observation.results")
    prompt_tokens: int | None = field(default=None, name="metrics.prompt_tokens")
    completion_tokens: int | None = field(default=None, name="metrics.completion_tokens")
    cached_tokens: int | None = field(default=None, name="metrics.cached_tokens")
    cost_usd: float | None = field(default=None, name="metrics.cost_usd")
    written: Any = field(default=None, name="metrics.extra.cache_creation_input_tokens")
    reasoning: Any = field(default=None, name="metrics.extra.reasoning_tokens")
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class Trajectory(msgspec.Struct):
    """A document, or a sub-agent inside one."""

    agent: dict[str, Any]
    steps: list[Any]
    model_name: str | None = field(default=None, name="agent.model_name")
    tool_definitions: list[Any] | None = field(default=None, name="agent.tool_definitions")
    total_cost_usd: float | None = field(default=None, name="final_metrics.total_cost_usd")
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[Any] | None = None


class OfTranscript(msgspec.Struct, omit_defaults=True):
    """Data of a transcript, beside its steps, that ATIF has no field for."""

    format: str = ""
    notes: tuple[str, ...] = ()
    head_recorded: bool = True
    hidden: int = 0
    needles: tuple[Needle, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    cleared: tuple[tuple[int, int], ...] = ()
    project: str = ""
    agent_version: str = ""
    beside: tuple[Call, ...] = ()


class OfStep(msgspec.Struct, omit_defaults=True):
    """Data of a step that ATIF has no field for.

    `parts` are the kinds of a response's items in order, with the length of each text: () if they are one reasoning,
    one text and calls. `media` are item number, kind and tokens of non-text content.
    """

    parts: tuple[tuple[str, int], ...] = ()
    media: tuple[tuple[int, str, int], ...] = ()
    time_s: float | None = None
    comparable: bool = True
    window: int | None = None
    held: int | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    hidden: int = 0


class OfResult(msgspec.Struct, omit_defaults=True):
    """Kind and tokens of non-text content in a result."""

    media: tuple[tuple[str, int], ...] = ()


class OfCall(msgspec.Struct, omit_defaults=True):
    """A call's exact arguments, and its own id, if ATIF's fields can't hold them."""

    text: str | None = None
    id: str | None = None


def ours(extra: dict[str, Any] | None) -> Any:
    """Return ctxsim's own data under `extra`, or {}."""
    found = (extra or {}).get(OURS)
    return found if isinstance(found, dict) else {}
