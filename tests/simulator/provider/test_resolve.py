"""What a recording says of its provider: the window, the cache and how long it lives."""

from __future__ import annotations

import msgspec
from samples import conversation

from ctxsim.simulator.provider.resolve import recorded_window, resolve
from ctxsim.transcript import Call, Compaction, Head, Transcript, Usage


def session(gap_s: float, *usages: Usage) -> Transcript:
    """A call for each usage, so many seconds apart."""
    made = conversation(*["r"] * (len(usages) - 1))
    calls = [
        msgspec.structs.replace(call, usage=usage, model="claude-opus-4-6", time_s=gap_s * n)
        for n, (call, usage) in enumerate(zip(made.calls, usages, strict=True))
    ]
    return msgspec.structs.replace(made, calls=tuple(calls))


def of_model(model: str, one: Transcript) -> Transcript:
    return msgspec.structs.replace(one, calls=tuple(msgspec.structs.replace(call, model=model) for call in one.calls))


def test_the_window_is_stated_or_that_of_the_project() -> None:
    stated = Transcript("a", Head(), (), (Call(0, 0, window=258_400),))
    assert recorded_window(stated, 400_000, "openai") == (258_400, "window 258,400 stated by the log")
    # Claude 4.6 is used with 200,000 of its million tokens too: whoever was compacted at 167,000 and whoever wasn't has
    # the window that holds what all sessions of the project had accepted.
    plain = of_model("claude-opus-4-6", msgspec.structs.replace(session(20, Usage(3_900), Usage(900)), project="/p"))
    compacted = msgspec.structs.replace(plain, compactions=(Compaction(2, 1, tokens_before=167_000),))
    for one in (compacted, plain):
        few, many = (167_000, 7), (201_000, 7)
        found = recorded_window(one, 1_000_000, "anthropic", few)
        assert found is not None and found[0] == 200_000 and "7 sessions of this project" in found[1]
        assert recorded_window(one, 1_000_000, "anthropic", many) is None, "the model's own"
        assert recorded_window(one, 1_000_000, "google", few) is None, "offered with one window"
        assert recorded_window(of_model("anthropic/claude-sonnet-4.6", one), 1_000_000, "anthropic", few) == found
        assert recorded_window(of_model("claude-opus-4-8", one), 1_000_000, "anthropic", few) is None, (
            "a million at once"
        )
        assert recorded_window(one, 200_000, "anthropic", few) is None, "the model's own explains it"
    found = recorded_window(session(20, Usage(112_000)), 64_000, "none")
    assert found == (200_000, "window 200,000 inferred: 112,000 tokens were accepted in this session")


def test_without_usage_or_beyond_all_windows_nothing_is_known_of_the_window() -> None:
    assert recorded_window(conversation("r"), None, "none") is None
    held = {200_000: 200_000, 200_001: 256_000, 400_001: 1_000_000, 2_000_000: 2_000_000, 2_000_001: None}
    for tokens, window in held.items():
        found = recorded_window(session(20, Usage(tokens)), None, "none")
        assert (found and found[0]) == window


def test_how_the_caches_lifetime_is_known_stands_in_the_origin() -> None:
    stated = Usage(10_000, 5, 9_000, 100, cache_write_long_tokens=100)
    read = [Usage(10_000, 5, tokens, 0) for tokens in (0, 9_000, 9_000)]
    for one, how in ((session(60, stated), "the log states"), (session(900, *read), "reads after longer pauses show")):
        found = resolve({}, None, one)
        assert found.long_cache and f"{how} the long cache lifetime" in found.origin
    assert not resolve({}, None, session(60, *read)).long_cache
