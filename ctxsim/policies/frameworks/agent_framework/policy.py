"""Microsoft Agent Framework's Python strategies: drop whole groups, or replace them by their results in one line."""

from collections.abc import Sequence

from ctxsim.policies.frameworks.chat import Message, counted, first_that, flat, in_place_of, items_of, messages, only
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.view import View

LONGEST = 4_096
"""Most characters of the line with a group's results, frame and marker included."""
MARKER = "... [truncated]"
PROMPT = 594
"""Characters of upstream's own instructions for a summary."""

Group = list[Message]


def groups_of(found: Sequence[Message]) -> list[Group]:
    """Return groups of messages: a response that calls tools with the results that follow it; other messages alone."""
    groups: list[Group] = []
    for message in found:
        if message.role == "tool" and groups and groups[-1][0].uses_tools:
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


class _OfAgentFramework(Policy, abstract=True):
    decides_by = "agent-framework"
    source = "microsoft/agent-framework"
    version = "agent-framework-core 1.23.0"


def truncated(policy: Policy, view: View, over: float, target: float, first_user: bool, by_tokens: bool) -> View:
    """Return the view without as many of the oldest groups as bring it from over a limit down to a target.

    The newest group always stays, and with `first_user` the first group of the user.
    """
    groups = groups_of(messages(view))
    system = policy.sees.head.system

    def size(kept: Sequence[Group]) -> int:
        if by_tokens:
            return counted(policy.sees, flat(kept), system)
        return sum(map(len, kept)) + bool(system)

    if size(groups) <= over or not groups:
        return view
    opening = next((n for n, group in enumerate(groups) if group[0].role == "user"), None) if first_user else None
    may_go = [n for n in range(len(groups) - 1) if n != opening]

    def without(oldest: int) -> list[Group]:
        gone = set(may_go[:oldest])
        return [group for n, group in enumerate(groups) if n not in gone]

    fewest = first_that(lambda oldest: size(without(oldest)) <= target, 0, len(may_go))
    return only(view, flat(without(fewest)), f"over {over:,.0f} {'tokens' if by_tokens else 'messages'}")


def with_results_in_line(view: View, keep: int) -> View:
    """Return the view with all but the newest `keep` groups of calls replaced by a note of their results."""
    groups = [group for group in groups_of(messages(view)) if group[0].uses_tools]
    for group in groups[: max(0, len(groups) - keep)]:
        view = in_place_of(view, group, _in_line(group), f"older than the newest {keep} tool groups", kind="note")
    return view


def _in_line(group: Group) -> str:
    tools = {call.place: call.tool for message in group for call in message.calls}
    told = []
    for message in group:
        if message.role == "tool":
            tool = tools.get(message.items[0].answers or 0, "")
            told.append((f"{tool}: {message.text}" if tool else message.text).strip())
    before, text, after = "[Tool results: ", "; ".join(told) or "no results", "]"
    if len(before + text + after) <= LONGEST:
        return before + text + after
    return before + text[: LONGEST - len(before + MARKER + after)].rstrip() + MARKER + after


class AfTruncation(_OfAgentFramework):
    """Over `max_n` drop the oldest groups until `compact_to` is met; never the system prompt or the newest group.

    agent_framework/_compaction.py, TruncationStrategy: tokens, or messages with `tokenizer=False`. The task is dropped
    too, unless `preserve_first_user_group`. Upstream has no defaults: 0 is the model's window, and half of `max_n`.
    """

    max_n: Count = 0
    compact_to: Count = 0
    tokenizer: bool = True
    preserve_first_user_group: bool = False

    def threshold(self) -> float | None:
        return (self.max_n or self.sees.window) if self.tokenizer else None

    def before_call(self, view: View) -> View:
        limit = self.max_n or self.sees.window
        target = self.compact_to or limit // 2
        return truncated(self, view, limit, target, self.preserve_first_user_group, self.tokenizer)


class AfSliding(_OfAgentFramework):
    """Keep the newest `keep_last_groups` groups. agent_framework/_compaction.py, SlidingWindowStrategy.

    A response with its results is one group, a user's text another. Upstream has no default.
    """

    keep_last_groups: Positive = SHIPPED

    def before_call(self, view: View) -> View:
        groups = groups_of(messages(view))
        return only(view, flat(groups[-self.keep_last_groups :]), f"before the newest {self.keep_last_groups} groups")


class AfSelective(_OfAgentFramework):
    """Drop all but the newest `keep_last_tool_call_groups` groups of calls with their results; texts stay.

    agent_framework/_compaction.py, SelectiveToolCallCompactionStrategy.
    """

    keep_last_tool_call_groups: Count = SHIPPED

    def before_call(self, view: View) -> View:
        groups = groups_of(messages(view))
        tools = [n for n, group in enumerate(groups) if group[0].uses_tools]
        gone = set(tools[: max(0, len(tools) - self.keep_last_tool_call_groups)])
        kept = flat(group for n, group in enumerate(groups) if n not in gone)
        return only(view, kept, f"older than the newest {self.keep_last_tool_call_groups} tool groups")


class AfToolResult(_OfAgentFramework):
    """Put one line of at most 4,096 characters, `[Tool results: ...]`, in the place of older groups of calls.

    agent_framework/_compaction.py, ToolResultCompactionStrategy. Shorter results are copied whole. Then only the calls'
    arguments and the frame are saved.
    """

    keep_last_tool_call_groups: Count = SHIPPED

    def before_call(self, view: View) -> View:
        return with_results_in_line(view, self.keep_last_tool_call_groups)


class AfContextWindow(_OfAgentFramework):
    """Over half of the input budget put older groups of calls in a line; still over .8 of it, drop down to half.

    agent_framework/_compaction.py, ContextWindowCompactionStrategy; the budget is the window less
    `max_output_tokens`. `max_context_window_tokens` 0 is the model's window; upstream has no default.
    """

    max_context_window_tokens: Count = 0
    max_output_tokens: Count = 0
    tool_eviction_threshold: Share = SHIPPED
    truncation_threshold: Share = SHIPPED
    keep_last_tool_call_groups: Count = SHIPPED
    preserve_first_user_group: bool = False

    @property
    def _budget(self) -> int:
        return max(1, (self.max_context_window_tokens or self.sees.window) - self.max_output_tokens)

    def threshold(self) -> float:
        return int(self._budget * self.tool_eviction_threshold)

    def before_call(self, view: View) -> View:
        if counted(self.sees, messages(view), self.sees.head.system) > self.threshold():
            view = with_results_in_line(view, self.keep_last_tool_call_groups)
        over = int(self._budget * self.truncation_threshold)
        return truncated(self, view, over, self.threshold(), self.preserve_first_user_group, by_tokens=True)


class AfSummarize(_OfAgentFramework):
    """Over `target_count` + `threshold_count` messages, put a summary in the place of the oldest groups.

    agent_framework/_compaction.py, SummarizationStrategy; `threshold_count` is upstream's `threshold`. The newest
    groups that have `target_count` messages stay. Of the others, the oldest are summarized as long as the summarizer's
    input fits `max_summary_input_tokens` (0: all). Groups in front that don't fit alone stay, for good.
    """

    target_count: Positive = 4
    threshold_count: Count = 2
    max_summary_input_tokens: Count = 8_000
    summary_tokens: Positive = 1_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        if len(found) <= self.target_count + self.threshold_count:
            return view
        groups, kept = groups_of(found), 0
        while groups and kept < self.target_count:
            kept += len(groups.pop())
        old = flat(self._shown(groups))
        text = self.sees.summarize(items_of(old), self.summary_tokens) if old else None
        if not text:
            return view
        return in_place_of(view, old, text, f"over {self.target_count + self.threshold_count} messages")

    def _shown(self, groups: Sequence[Group]) -> Sequence[Group]:
        limit, shown, tokens, told = self.max_summary_input_tokens, list[Group](), PROMPT // 4, 0
        if not limit:
            return groups
        for group in groups:
            lines = "\n".join(_line(n, message) for n, message in enumerate(group, told + 1))
            # The line feed between two groups counts as a token.
            size = max(1, len(lines) // 4) + bool(shown)
            if tokens + size > limit:
                if shown:
                    break
                continue
            shown.append(group)
            tokens, told = tokens + size, told + len(group)
        return shown


def _line(number: int, message: Message) -> str:
    """A message as a line of the summarizer's input."""
    if message.role == "tool":
        content = f"function_result: {message.text} [call_id={message.items[0].call_id}]"
    else:
        calls = [f"function_call {call.tool}({call.text}) [call_id={call.call_id}]" for call in message.calls]
        content = "; ".join(([message.text] if message.text else []) + calls)
    role = "assistant" if message.items[0].synthetic else message.role
    return f"{number}. [{role}] {content}"


class AfBudget(_OfAgentFramework):
    """Over `token_budget` put older groups of calls in a line; still over, keep the last `keep_last_groups`, or fewer.

    agent_framework/_compaction.py, TokenBudgetComposedStrategy of ToolResultCompactionStrategy and, unless it is 0,
    SlidingWindowStrategy. If that isn't enough, the oldest groups are dropped until it is; the newest stays. If the
    system prompt still doesn't fit the budget, upstream drops it too, for good, and no longer counts it; here it is
    still sent. Upstream has no default: 0 is the model's window.
    """

    token_budget: Count = 0
    keep_last_tool_call_groups: Count = AfToolResult.keep_last_tool_call_groups
    keep_last_groups: Count = 0

    def start(self) -> None:
        self._prompt = True  # whether upstream still sends the system prompt

    def threshold(self) -> float:
        return self.token_budget or self.sees.window

    def before_call(self, view: View) -> View:
        if self._size(view) > self.threshold():
            view = with_results_in_line(view, self.keep_last_tool_call_groups)
        if (size := self._size(view)) <= self.threshold():
            return view
        groups = groups_of(messages(view))
        sizes = [counted(self.sees, group) for group in groups]
        gone = max(0, len(groups) - self.keep_last_groups) if self.keep_last_groups else 0
        size -= sum(sizes[:gone])
        while gone < len(groups) - 1 and size > self.threshold():
            size -= sizes[gone]
            gone += 1
        self._prompt = self._prompt and size <= self.threshold()
        return only(view, flat(groups[gone:]), f"over {self.threshold():,.0f} tokens")

    def _size(self, view: View) -> int:
        return counted(self.sees, messages(view), self.sees.head.system if self._prompt else "")
