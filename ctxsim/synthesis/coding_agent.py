"""A coding agent's long day: many turns of tool calls whose result sizes are as skewed as in real recordings."""

import json
import math
import random
import re
from typing import Annotated

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis.scenario import Session, schema
from ctxsim.synthesis.tool_output import TOOLS, function, output, path
from ctxsim.synthesis.words import fit, prose, sentence
from ctxsim.transcript import Head, Transcript

OLD_FACTS = 0.3
"""Share of calls that use a fact from any earlier result; real recordings have about as many aged needs."""

SYSTEM = "You are a coding agent. Work in small steps and run the tests.\n\nProject notes:\n{}\n"

_FACT = re.compile(r"src/\w+/\w+\.py|\b[a-z]+_[a-z]+_[0-9a-f]{4}\b|\b[0-9a-f]{8,12}\b")

Size = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """Result sizes have a lognormal distribution of characters. `head_tokens` is exact, `output_tokens` a mean.

    Without `tools` each response is only text.
    """

    turns: Size = 50
    calls_per_turn: Size = 6
    median_chars: Size = 1_500
    p90_chars: Size = 12_000
    cap_chars: Size = 192_000
    head_tokens: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 6_000
    output_tokens: Size = 200
    tools: bool = True


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the transcript."""
    # The 90th percentile of a normal distribution lies 1.2816 standard deviations above the mean.
    sigma = math.log(wanted.p90_chars / wanted.median_chars) / 1.2816
    fields = {"target": "string", "symbol": "string"}
    about = {tool: f"{tool.replace('_', ' ').capitalize()} in the working copy." for tool in TOOLS}
    tools = tuple(schema(*tool, fields, ["target"]) for tool in about.items()) if wanted.tools else ()
    room = wanted.head_tokens - sum(map(counter.text, tools))
    system = fit(SYSTEM.format, prose(rng, wanted.head_tokens), room, counter.text)
    made = Session()
    fact = path(rng)
    facts: list[str] = []
    for turn in range(wanted.turns):
        made.user(f"Turn {turn + 1}. {sentence(rng)} {sentence(rng)}")
        for step in range(wanted.calls_per_turn):
            last = step == wanted.calls_per_turn - 1
            tool = rng.choice(tuple(TOOLS))
            said, arguments = _response(rng, fact, wanted.output_tokens)
            made.respond(said, tool, *[arguments][: wanted.tools], call_id=f"call_{len(made.calls)}")
            if not wanted.tools:
                continue
            chars = min(wanted.cap_chars, max(20, round(rng.lognormvariate(math.log(wanted.median_chars), sigma))))
            text = output(rng, tool, chars)
            made.result(text)
            found = _FACT.findall(text)
            # The next step mostly uses a fact of this result, and sometimes one of any earlier result.
            if facts and rng.random() < OLD_FACTS:
                fact = facts.pop(rng.randrange(len(facts)))
            elif found and not last:
                fact = rng.choice(found)
            facts += found[:3]
    return made.transcript(Head(system, tools))


def _response(rng: random.Random, fact: str, tokens: int) -> tuple[str, str]:
    """Return text of varying length that names a fact, and a tool call's arguments that use the fact."""
    # About 1.2 tokens a word and 25 for the call.
    words = prose(rng, max(5, round((tokens - 25) / 1.2 * rng.uniform(0.6, 1.4))))
    arguments = json.dumps({"target": fact, "symbol": function(rng)})
    return f"Next I look at {fact}. " + " ".join(words), arguments
