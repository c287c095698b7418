"""Functions over messages as policies: three of the built-in ones once more, as one would write them in an agent.

ctxsim bench LOGS --policy messages:docs/examples/messages.py:mask:keep=10
"""

CLEARED = "[cleared to save context]"
PREFIX = "Old environment output: "


def mask(messages, keep: int = 10):
    """Old tool results become one line each, as the built-in `mask` does."""
    results = [message for message in messages if message["role"] == "tool"]
    for message in results[: max(0, len(results) - keep)]:
        if not message["content"].startswith(PREFIX):
            message["content"] = f"{PREFIX}({len(message['content'].splitlines())} lines omitted)"
    return messages


def clear(messages, context, trigger: int = 100_000, keep: int = 3):
    """Over `trigger` tokens the old results are cleared, in that request only: use it with `lasting=False`."""
    results = [message for message in messages if message["role"] == "tool"]
    old = results[: max(0, len(results) - keep)]
    frees = sum(_tokens(message["content"]) - _tokens(CLEARED) for message in old)
    if context.estimate > trigger and frees > 0:
        for message in old:
            message["content"] = CLEARED
    return messages


def _tokens(text):
    """As ctxsim's default estimator guesses them."""
    return -(-len(text) // 4)


def summary(messages, context, at: float = 0.7, keep_last: int = 10):
    """Over a share of the window the old part becomes one summary, which ctxsim writes and bills, as `summary` does."""
    head = [message for message in messages if message["id"] == "head"]
    rest = messages[len(head) :]
    # The results of one response count as one message, as they do in the built-in one.
    starts = [n for n, one in enumerate(rest) if not (n and one["role"] == "tool" == rest[n - 1]["role"])]
    start = starts[max(0, len(starts) - keep_last)] if starts else 0
    while start > 0 and rest[start]["role"] == "tool":
        start -= 1
    old, tail = rest[:start], rest[start:]
    if context.estimate <= at * context.window or all(message.get("made") == "summary" for message in old):
        return messages
    return [*head, {"role": "user", "content": "", "summarize": True, "max_tokens": 20}, *tail]
