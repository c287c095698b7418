"""Gemini CLI: a summary of the older part from a share of the window on, and masking of old tool output."""

import json
from collections.abc import Sequence

from ctxsim.policies.agents.shared.history import in_place_of, since_response
from ctxsim.policies.agents.shared.tools import ends_of, is_reader, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share, Stop
from ctxsim.transcript import Item, Usage
from ctxsim.view import View

MASKED = "<tool_output_masked>"
CUT = "\n\n... [{left} characters omitted] ...\n\n"
READ_LINES, READ_CHARS = 2_000, 2_000
"""Most lines of a file that is read, and most characters of each line."""

ACKNOWLEDGED = "Got it. Thanks for the additional context!"
NEVER_MASKED = frozenset(("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode"))


def preview(item: Item) -> str:
    """Return the text of a masked result: ten lines at each end of a shell's output, 250 characters of others."""
    lines = item.text.split("\n")
    if is_shell(item.tool):
        left = len(lines) - 20
        shown = "\n".join([*lines[:10], f"... [{left} lines omitted] ...", *lines[-10:]]) if left > 0 else item.text
    else:
        shown = ends_of(item.text, 250, 250, "\n... [TRUNCATED] ...\n")
    return (
        f"{MASKED}\n{shown}\n\nOutput too large. Full output available at: tool-{item.place}.txt\n</tool_output_masked>"
    )


def shown_of_file(text: str) -> str:
    """Return the part of a file that the tool for reading shows: its first lines, each up to a length."""
    lines = text.split("\n")
    shown = [line if len(line) <= READ_CHARS else f"{line[:READ_CHARS]}... [truncated]" for line in lines[:READ_LINES]]
    left = len(lines) - len(shown)
    return "\n".join([f"[{left} more lines]", *shown] if left else shown)


class GeminiCli(Policy):
    """From `compression_threshold` of the window on: a summary of the older part; the rest begins at a user's text.

    google-gemini/gemini-cli, packages/core/src/context: chatCompressionService.ts, toolOutputMaskingService.ts;
    core/client.ts. The number compared is the last prompt that the provider reported, without later items. The rest
    begins at the first text of the user with `1 - compression_preserve` of all characters before it, else at the newest
    one; with one long prompt there is none, and nothing is ever compressed. Each summary takes two requests. A result
    larger than the last prompt is discarded, and compression isn't tried again. Then masking: results older than the
    newest `protect` tokens of results become previews, once they are `prunable` tokens. If new items don't fit the rest
    of the window even so, the agent stops. On arrival, output of a shell over `truncate_tool_output_threshold`
    characters keeps 20 % of that at its start and 80 % at its end; a file that is read keeps its first 2,000 lines, and
    2,000 characters of each (utils/fileUtils.ts).
    """

    source = "google-gemini/gemini-cli"
    decides_by = "gemini"

    compression_threshold: Share = SHIPPED
    compression_preserve: Share = SHIPPED
    protect: Count = SHIPPED
    prunable: Count = SHIPPED
    truncate_tool_output_threshold: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._prompt = 0
        self._inflated = False

    def fires_at(self) -> float | None:
        return self.compression_threshold * self.sees.window

    def on_tool_result(self, item: Item) -> Item:
        if is_reader(item.tool):
            return item.with_text(shown_of_file(item.text))
        if not is_shell(item.tool):
            return item
        head = self.truncate_tool_output_threshold // 5
        return item.with_text(ends_of(item.text, head, self.truncate_tool_output_threshold - head, CUT))

    def after_call(self, view: View, usage: Usage) -> View:
        self._prompt = usage.input_tokens
        return view

    def before_call(self, view: View) -> View | Stop:
        if self._prompt >= self.compression_threshold * self.sees.window:
            view = self._compressed(view)
        view = self._masked(view)
        new = self.sees.size_of(view[since_response(view) :])
        if new > self.sees.window - self._prompt:
            return Stop(f"{new:,} tokens don't fit beside {self._prompt:,} of {self.sees.window:,}")
        return view

    def _compressed(self, view: View) -> View:
        history = view[: since_response(view)]
        old = history[: self._split(history)]
        if self._inflated or all(item.synthetic for item in old):
            return view
        first = self.sees.summarize(old, self.summary_tokens)
        text = None if first is None else self.sees.summarize(old, self.summary_tokens) or first
        if text is None:
            return view
        reason = f"the last prompt, {self._prompt:,} tokens, is {self.compression_threshold:.0%} of the window or more"
        at = view[len(old)].order if len(old) < len(view) else 0
        made = in_place_of(view, old, text, reason, at).insert(ACKNOWLEDGED, at, reason)
        if made.size > self._prompt:
            self._inflated = True
            return view
        self._prompt = made.size
        return made

    def _split(self, history: Sequence[Item]) -> int:
        """The number of old items."""
        total, seen, last = sum(len(item.text) for item in history), 0, 0
        for position, item in enumerate(history):
            # Consecutive texts of the user are one message.
            if item.kind == "user" and (not position or history[position - 1].kind != "user"):
                last = position
                if seen >= (1 - self.compression_preserve) * total:
                    return position
            seen += len(item.text)
        called = history and history[-1].kind == "tool_call"
        return last if called else len(history)

    def _masked(self, view: View) -> View:
        newest = view[-1].message if view else 0
        seen, pruned, masked = 0, 0, {}
        for item in reversed(view.results):
            if item.message == newest or item.tool in NEVER_MASKED or MASKED in item.text:
                continue
            tokens = self.sees.size_of([item])
            seen += tokens
            if seen > self.protect:
                pruned += tokens
                shown = preview(item)
                if len(json.dumps(shown)) < len(json.dumps(item.text)):
                    masked[item.place] = shown
        if pruned < self.prunable or not masked:
            return view
        made = view.rewrite(masked, f"{pruned:,} tokens of results older than the newest {self.protect:,}")
        self._prompt = made.size
        return made
