"""The OpenAI Agents SDK's trimmer: long results of earlier turns become previews."""

from dataclasses import dataclass

from ctxsim.policies.agents.settings import values_for
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View

_OPENAI_TRIMMER = values_for("openai-agents", policy="openai-trimmer")


@dataclass
class OpenaiTrimmer(Policy):
    """Before the `recent_turns`-th user text from the end, cut results over `max_output_chars` to a preview.

    openai/openai-agents-python, agents/extensions/tool_output_trimmer.py, ToolOutputTrimmer. Decided anew at each call.
    With fewer user texts than that nothing is ever cut: not in a run with one task.
    """

    family = "frameworks"
    source = "openai/openai-agents-python"
    version = "openai-agents 0.24.0"
    read_on = "2026-11-22"
    agent = "openai-agents"

    per_request = True

    recent_turns: Positive = _OPENAI_TRIMMER["recent_turns"]
    max_output_chars: Positive = _OPENAI_TRIMMER["max_output_chars"]
    preview_chars: Count = _OPENAI_TRIMMER["preview_chars"]

    def before_call(self, view: View) -> View:
        turns = [item.place for item in view if item.kind == "user"]
        if len(turns) < self.recent_turns:
            return view
        first = turns[-self.recent_turns]
        texts: dict[int, str] = {}
        for item in view.results:
            if item.place < first and len(item.text) > self.max_output_chars:
                cut = (
                    f"[Trimmed: {item.tool or 'unknown_tool'} output — {len(item.text)} chars → "
                    f"{self.preview_chars} char preview]\n{item.text[: self.preview_chars]}..."
                )
                if len(cut) < len(item.text):
                    texts[item.place] = cut
        return view.rewrite(texts, f"before the last {self.recent_turns} turns")
