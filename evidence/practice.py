"""What people do today instead: count the history again at each call, or write a loop without any of our columns."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.policies import open_policy
from ctxsim.simulator.measure.measured import KEEP_ALL, Basis, measure
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

Work = Callable[[], object]

MOST = 60
"""The most calls of a transcript that are recounted."""


def recounts(transcripts: Sequence[Transcript]) -> dict[str, Work]:
    """Return one policy that counts all of its history at each call, by the name of each installed library."""
    tokenizer = open_tokenizer("tiktoken:o200k_base")

    def count(text: str) -> int:
        return tokenizer.count_many([text])[0]

    def plain() -> None:
        for transcript in transcripts:
            for call in transcript.calls[:MOST]:
                sum(count(text) for item in transcript.items[: call.start] for text in item.texts)

    found: dict[str, Work] = {"tiktoken at each call": plain}
    try:
        from langchain_core.messages import AIMessage, HumanMessage, trim_messages

        def langchain(count: Callable[[str], int]) -> None:
            for transcript in transcripts:
                for call in transcript.calls[:MOST]:
                    history = [
                        (HumanMessage if item.kind in ("user", "tool_result") else AIMessage)(item.text or " ")
                        for item in transcript.items[: call.start]
                    ]
                    trim_messages(
                        history, max_tokens=40_000, strategy="last",
                        token_counter=lambda seen: sum(count(str(message.content)) for message in seen),
                    )  # fmt: skip

        found["LangChain's trim_messages, tiktoken"] = lambda: langchain(count)
        found["the same, each text counted once"] = lambda: langchain(cache(count))
    except ImportError:
        pass
    try:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        from litellm import token_counter

        def litellm() -> None:
            for transcript in transcripts:
                for call in transcript.calls[:MOST]:
                    history = [{"role": "user", "content": item.text} for item in transcript.items[: call.start]]
                    token_counter(model="gpt-4o", messages=history)

        found["litellm.token_counter"] = litellm
    except ImportError:
        pass
    found["ctxsim's fifo, with bill, cache and survival"] = fifo(transcripts)
    return found


def fifo(transcripts: Sequence[Transcript]) -> Work:
    """Return the measurement of a policy after keep-all: verdict, bill, cache and survival of each call."""
    cut = [msgspec.structs.replace(transcript, calls=transcript.calls[:MOST]) for transcript in transcripts]
    bases = [Basis(one, provider := Provider(cache="anthropic"), provider.counter()) for one in cut]
    spec = open_policy("fifo:budget=40000")
    for basis in bases:
        measure(basis, KEEP_ALL)
    return lambda: [measure(basis, spec) for basis in bases]


def bare_loop(transcripts: Sequence[Transcript]) -> list[int]:
    """Return the tokens sent by each of twelve policies; no cache, prices, pairs, losses or tables."""
    tokenizer, counts = open_tokenizer("tiktoken:o200k_base"), dict[str, int]()
    totals = [0] * 12
    for transcript in transcripts:
        sizes = []
        for item in transcript.items:
            for text in item.texts:
                if text not in counts:
                    counts[text] = tokenizer.count_many([text])[0]
            sizes.append(sum(counts[text] for text in item.texts))
        results = [at for at, item in enumerate(transcript.items) if item.kind == "tool_result"]
        ends = [0, *accumulate(sizes)]
        result_ends = [0, *accumulate(sizes[at] for at in results)]
        for call in transcript.calls:
            whole = ends[call.start]
            here = bisect_left(results, call.start)
            totals[0] += whole
            for number, keep in enumerate((1, 3, 5, 10, 20, 40), 1):
                totals[number] += whole - result_ends[max(0, here - keep)]
            for number, keep in enumerate((11, 21, 41, 81, 161), 7):
                totals[number] += whole - ends[max(0, call.start - keep)]
    return totals
