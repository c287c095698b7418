"""What editing history costs on models that bind thinking to what stands before it."""

from ctxsim.results import Run

BINDING = "Opus 5.5, Sonnet 5.5, Haiku 5.5 and Fable 5.1"
"""Models that bind thinking to what stands before it."""


def of_thinking(run: Run, take: str) -> list[str]:
    """Return, as lines of the verdict, what becomes of thinking under a policy; none where history isn't edited."""
    rows = run.of(take)
    refused, dropped = (rows[name].fillna(0) for name in ("invalid_thinking", "tokens_thinking_dropped"))
    if refused.sum():
        return [
            f"Refused for thinking that follows an edit: {int(refused.sum()):,} of {int(rows.calls.sum()):,} calls. "
            "With --thinking drop they are accepted, and that thinking is lost."
        ]
    if dropped.sum():
        return [f"Thinking that follows edits is dropped: {int(dropped.sum()):,} tokens are lost."]
    if rows.compactions.sum() and any(values.get("vendor") == "anthropic" for values in run.info.providers):
        return [f"It edits history. {BINDING} refuse requests whose thinking follows an edit: see --thinking."]
    return []
