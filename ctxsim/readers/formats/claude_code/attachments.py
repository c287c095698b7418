"""Attachments of Claude Code: texts that newer versions add to a request besides messages, if the file has them."""

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.source import compact_json, under

TEXT: Mapping[str, tuple[str, ...]] = {
    # By type, the path of the text that the model was sent. Claude Code's frame around it isn't recorded.
    "queued_command": ("prompt",),
    "file": ("content", "file", "content"),
    "nested_memory": ("content", "content"),
    "edited_text_file": ("snippet",),
    "skill_listing": ("content",),
    "invoked_skills": ("skills",),
    "hook_success": ("content",),
    "hook_additional_context": ("content",),
    "hook_blocking_error": ("blockingError", "blockingError"),
    "task_reminder": ("content",),
    "todo_reminder": ("content",),
    "deferred_tools_delta": ("addedLines",),
    "agent_listing_delta": ("addedLines",),
    "mcp_instructions_delta": ("addedBlocks",),
    "read_truncation_notice": ("banner",),
    "total_tokens_reminder": ("text",),
    "batching_reminder_sent": ("text",),
    "silent_turn_reminder": ("text",),
}


def attachment_content(attachment: Mapping[str, Any]) -> str | list[Any] | None:
    """Return what an attachment added to the request, as message content; None if it added none or it isn't known."""
    value = under(attachment, *TEXT.get(str(attachment.get("type")), ("no such field",)))
    if isinstance(value, str):
        return value or None
    if isinstance(value, list) and value:
        lines = [entry for entry in value if isinstance(entry, str)]
        if len(lines) == len(value):
            return "\n".join(lines)
        blocks = all(isinstance(entry, dict) and entry.get("type") in ("text", "image") for entry in value)
        return value if blocks else compact_json(value)
    return None
