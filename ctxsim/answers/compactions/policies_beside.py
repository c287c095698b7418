"""What another policy would have left of the same request, with a number fitted to leave as many tokens as recorded."""

from itertools import zip_longest

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Call, Head, Item, Transcript

FITTED = {
    "fifo": "fifo:budget={}",
    "max-messages": "max-messages:n={}",
    "token-budget": "token-budget:budget=1,retain={}",
    "mask": "mask:keep={}",
    "clear-tool-uses": "clear-tool-uses:trigger=0,keep={}",
    "summary": "summary:at=0.000001,keep_last=1,max_tokens={}",
}
"""Built-in policies with one number to fit: the larger it is, the more is left."""

MOST = 1 << 24
"""The largest number that is tried."""

DEFAULT_SUMMARY = "summary:at=0.000001,keep_last=1"
"""The summary policy with its default length, whatever number of tokens it leaves."""


class Left(msgspec.Struct, frozen=True):
    """What a policy, by its full label, left of a request, and how many tokens that is."""

    policy: str
    items: tuple[Item, ...]
    tokens: int


def tokens_of(items: tuple[Item, ...], counter: Counter) -> int:
    """Return the tokens of some items, without head and framing; reasoning isn't counted, as it isn't sent again."""
    return sum(counter.item(item) for item in items if item.kind != "reasoning")


def left_by(label: str, items: tuple[Item, ...], head: Head, provider: Provider, counter: Counter) -> Left:
    """Return what a policy leaves of a request if it may act before it, and after an empty response to it.

    No request is refused: the window is far larger. Raises UnknownName or LabelError for the label.
    """
    spec = open_policy(label)
    end = len(items)
    twice = Transcript("", head, items, (Call(end, end), Call(end, end)), carried=end)
    window = 10 * (tokens_of(items, counter) + counter.head(head) + 1_000)
    lenient = msgspec.structs.replace(provider, window=window, reserved_output=0, rate_limit=None)
    *_, last = replay(twice, spec, lenient, counter)
    left = tuple(last.view)
    return Left(spec.label, left, tokens_of(left, counter))


def fitted(
    pattern: str, items: tuple[Item, ...], tokens: int, head: Head, provider: Provider, counter: Counter
) -> Left:
    """Return what a policy leaves with the largest number in its label (to 1/64) that leaves at most `tokens`.

    If the smallest number, 0 or 1, leaves more, what it leaves is returned.
    """

    def at(number: int) -> Left:
        return left_by(pattern.format(number), items, head, provider, counter)

    low = 1 if pattern.startswith(("max-messages", "summary")) else 0
    best = at(low)
    if best.tokens > tokens:
        return best
    # Most numbers count tokens or something rarer, so the allowed tokens are a good first guess.
    high = max(1, tokens)
    while (more := at(high)).tokens <= tokens:
        best, low, high = more, high, high * 2
        if high > MOST or all(item is kept for item, kept in zip_longest(items, more.items)):
            return best
    while high - low > max(1, low // 64):
        middle = (low + high) // 2
        tried = at(middle)
        if tried.tokens <= tokens:
            best, low = tried, middle
        else:
            high = middle
    return best
