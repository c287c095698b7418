"""The OpenAI Agents SDK: previews of earlier turns' results, a limit of items, and compaction by the server."""

from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.view import View


class _OfOpenaiAgents(Policy, abstract=True):
    source = "openai/openai-agents-python"
    version = "openai-agents 0.24.0"


class OpenaiTrimmer(_OfOpenaiAgents):
    """Before the `recent_turns`-th user text from the end, cut results over `max_output_chars` to a preview.

    openai/openai-agents-python, agents/extensions/tool_output_trimmer.py, ToolOutputTrimmer. Each request is edited
    independently. With fewer user texts than `recent_turns`, as in a run with one task, nothing is cut.
    """

    per_request = True

    recent_turns: Positive = SHIPPED
    max_output_chars: Positive = SHIPPED
    preview_chars: Count = SHIPPED

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


class OpenaiSessionLimit(_OfOpenaiAgents):
    """Send the last `limit` items. A text, a call and a result are one item each, and calls may lose their results.

    agents/memory/session_settings.py, SessionSettings(limit): no default upstream. In a run with one task the request
    begins in the middle of a response.
    """

    per_request = True

    limit: Positive = 100

    def before_call(self, view: View) -> View:
        return view.drop([item.place for item in view[: -self.limit]], f"before the last {self.limit} items")


class OpenaiCompactionSession(_OfOpenaiAgents):
    """From `candidates` items on that aren't the user's, keep all users' texts and put one compaction behind them.

    agents/memory/openai_responses_compaction_session.py, OpenAIResponsesCompactionSession: a text, a call and a result
    are one item each; the newest results are removed too. The server's item is encrypted; here it is a summary.
    Upstream compacts after a turn, and waits while calls are open; here this happens before the next request.
    """

    candidates: Positive = 10
    summary_tokens: Positive = 1_000

    def before_call(self, view: View) -> View:
        old = [item for item in view if item.kind not in ("user", "summary")]
        if len(old) < self.candidates:
            return view
        text = self.sees.summarize(list(view), self.summary_tokens)
        if text is None:
            return view
        places = [item.place for item in view if item.kind != "user"]
        reason = f"{self.candidates} items or more"
        return view.drop(places, reason).insert(
            text, view[-1].order + 1, reason, kind="summary", sources=[item.place for item in view]
        )
