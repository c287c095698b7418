"""Conversations that Hypothesis generates for frameworks, and functions that remove a trait that may be to blame."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

Conversation = dict[str, Any]
"""In OpenAI's form, as `tests/drive_upstream.py` takes it: system, messages, and how many of them each call sends."""

TEXTS = st.one_of(
    st.text(max_size=40),
    st.builds(
        lambda text, times: text * times,
        st.sampled_from(["word ", "x", "line\n", "é漢字🙂", '{"a": [1, 2]} ', "\\u00e9\t", "<|endoftext|>"]),
        st.sampled_from([0, 1, 7, 50, 199, 200, 400, 401, 1_000, 12_000]),
    ),
)
ARGUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(["path", "näme"]), st.one_of(TEXTS, st.integers(), st.lists(st.booleans()))).map(
        lambda value: json.dumps(value, ensure_ascii=False)
    ),
    st.sampled_from(['{"path":"a.txt"}', "{}", '{"q": "\\u6570"}']),
)


IMAGES = st.integers(0, 9).map(lambda number: max(0, number - 7))


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Draw a conversation in OpenAI's form, with how many messages each call's request holds."""
    found: list[dict[str, Any]] = []
    calls = []
    repeated = draw(st.integers(0, 9)) == 0
    for number in range(draw(st.integers(1, 12))):
        if number == 0 or draw(st.integers(0, 3)) == 0:
            found += [
                {"role": "user", "content": draw(TEXTS) or "go on", "images": draw(IMAGES)}
                for _ in range(draw(st.integers(1, 2)))
            ]
        calls.append({"n": len(found)})
        asked = [
            {
                "id": f"call_{n if repeated else f'{number}_{n}'}",
                "type": "function",
                "function": {"name": draw(st.sampled_from(["read", "search"])), "arguments": draw(ARGUMENTS)},
            }
            for n in range(draw(st.integers(0, 4)))
        ]
        said = draw(st.one_of(st.just(""), TEXTS))
        found.append({"role": "assistant", "content": said if asked else said or "done"})
        if asked:
            found[-1]["tool_calls"] = asked
            for call in draw(st.permutations(asked)):
                told = {"tool_call_id": call["id"], "name": call["function"]["name"], "content": draw(TEXTS)}
                told["images"] = draw(IMAGES)
                found.append({"role": "tool", **told})
        else:
            found.append({"role": "user", "content": draw(TEXTS) or "go on"})
    return {"name": "made", "system": draw(TEXTS) or "Help.", "tools": [], "messages": found, "calls": calls}


def generated(count: int) -> list[Conversation]:
    """Return `count` conversations, the same in each new process: Hypothesis also draws from loaded modules."""
    found: list[Conversation] = []

    @settings(max_examples=count, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(conversations())
    def collect(one: Conversation) -> None:
        found.append(one)

    collect()
    return found


def with_other_ids(conversation: Conversation) -> Conversation:
    """Return the same conversation with an id of its own for every call."""
    made, names = json.loads(json.dumps(conversation)), {}
    for number, message in enumerate(made["messages"]):
        for place, call in enumerate(message.get("tool_calls", ())):
            names[call["id"]] = call["id"] = f"own_{number}_{place}"
        if message["role"] == "tool":
            message["tool_call_id"] = names[message["tool_call_id"]]
    return made  # type: ignore[no-any-return]


def without_images(conversation: Conversation) -> Conversation:
    """Return the same conversation without images."""
    return conversation | {"messages": [one | {"images": 0} for one in conversation["messages"]]}


def with_results_in_order(conversation: Conversation) -> Conversation:
    """Return the same conversation with the results of each response in the order of its calls."""
    made = json.loads(json.dumps(conversation))
    order: dict[str, int] = {}
    told: list[dict[str, Any]] = []
    for number, message in enumerate([*made["messages"], {"role": "end"}]):
        if message["role"] == "tool":
            told.append(message)
            continue
        made["messages"][number - len(told) : number] = sorted(told, key=lambda one: order[one["tool_call_id"]])
        told = []
        order = {call["id"]: place for place, call in enumerate(message.get("tool_calls", ()))}
    return made  # type: ignore[no-any-return]
