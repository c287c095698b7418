"""Small hand-made conversations that tests read like a chat."""

from __future__ import annotations

from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.replay import replay
from ctxsim.tally import Sent
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript


def conversation(*results: str, system: str = "", name: str = "sample") -> Transcript:
    """A task, then one call per result, then a last call that answers: len(results) + 1 calls."""
    assembly = Assembly(name)
    assembly.system.append(system)
    assembly.user("Do the task.")
    for number, result in enumerate(results):
        assembly.response([Part("tool_call", "{}", "tool", f"c{number}")])
        assembly.result(result, f"c{number}")
    assembly.response([Part("assistant", "Done.")])
    return assembly.transcript()


def run(transcript: Transcript, label: str, **provider: object) -> list[Sent]:
    """Replay under a policy against a provider with these rules."""
    rules = Provider(**provider)  # type: ignore[arg-type]
    return list(replay(transcript, open_policy(label), rules, Counter(open_tokenizer(rules.tokenizer))))
