"""Continue's terminal agent: one summary of everything, once the window has little more room than for an answer."""

from collections.abc import Sequence
from math import ceil

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.agents.shared.tools import ends_of, fitting, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View


class ContinueCli(Policy):
    """From the window less the output and a buffer on: one summary in place of everything but the system prompt.

    continuedev/continue, extensions/cli/src: compaction.ts, util/tokenizer.ts. The output is `max_tokens`; 0 is
    `output_share` of the window, at most `output_most`. The buffer is the output or `buffer_share` of the rest of the
    window, whichever is larger, at most `buffer_most`. The number compared is a tokenizer's count of the whole history,
    never usage. If a history is too long for the summary request, the summariser doesn't get its last messages. Output
    of a shell keeps its last `bash_max_output_chars` characters on arrival (util/truncateOutput.ts); its limit of 1,000
    lines isn't modelled. A refused request isn't handled.
    """

    source = "continuedev/continue"
    decides_by = "tokenizer"
    summary_head = None  # extensions/cli/src/compaction.ts@f6b44d7

    max_tokens: Count = 0
    output_share: Share = SHIPPED
    output_most: Count = SHIPPED
    buffer_share: Share = SHIPPED
    buffer_most: Count = SHIPPED
    bash_max_output_chars: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    @property
    def _output(self) -> float:
        return self.max_tokens or min(self.output_share * self.sees.window, self.output_most)

    def threshold(self) -> float:
        room = self.sees.window - self._output
        return room - min(max(self._output, ceil(self.buffer_share * room)), self.buffer_most)

    def on_tool_result(self, item: Item) -> Item:
        mark = "(previous {left} characters truncated)\n\n"
        return item.with_text(ends_of(item.text, 0, self.bash_max_output_chars, mark)) if is_shell(item.tool) else item

    def before_call(self, view: View) -> View:
        used = self.sees.estimate(view)
        if used < self.threshold():
            return view
        reason = f"{used:,} tokens are {self.threshold():,.0f} or more"
        return condense(self, view, list(view), reason, self.summary_tokens, shown=self._fitting(view)) or view

    def _fitting(self, view: View) -> Sequence[Item]:
        """The items for the summariser: the oldest messages that fit beside its answer."""
        messages = view.messages()
        count = fitting(map(self.sees.size_of, messages), self.sees.window - self._output)
        return [item for message in messages[:count] for item in message]
