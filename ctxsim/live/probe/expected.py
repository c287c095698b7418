"""What a policy's formula expects of settings: the tokens at which it compacts, and the size of results it cuts."""

from collections.abc import Mapping
from typing import NamedTuple

from ctxsim.live.agent import Agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe.verdict import Awaited
from ctxsim.policies import Overflow, Policy, Surroundings, open_policy
from ctxsim.policies.agents.given import Given, effect, parameters_of
from ctxsim.policies.agents.settings import Setting
from ctxsim.policies.agents.settings_file import values_for
from ctxsim.transcript import Item, Sizes, Usage
from ctxsim.view import View


def departure(one: Setting, value: Value) -> str:
    """Return what an agent does with a value that it doesn't use as it is: clamped, ignored or refused; else ''."""
    typed = one.typed(str(value)) if one.env else value
    if one.taken(typed) is None:
        return "refused" if one.outside == "refused" else "ignored"
    return "clamped" if one.problem(typed) else ""


class Situation(NamedTuple):
    """An agent in its version, a model, the window declared for it, and the first request's tokens (0: unknown)."""

    agent: Agent
    model: str
    window: int
    first: int = 0


def expected(here: Situation, given: Mapping[str, Value], bounds: bool = True) -> Awaited:
    """Return when the agent's policy compacts with these settings. Without `bounds` each value is used as it is."""
    policy = policy_of(here, given, bounds)
    if policy is None:
        return Awaited("never")
    if (threshold := policy.fires_at()) is not None:
        return Awaited("proactive", threshold)
    return Awaited("only after a refusal" if _recovers(policy) else "never")


def cut_to(here: Situation, given: Mapping[str, Value], text: str, tool: str) -> int | None:
    """Return how many characters the policy leaves of a tool's result; None if there is no policy."""
    policy = policy_of(here, given, bounds=True)
    return None if policy is None else len(policy.on_tool_result(Item("tool_result", 1, 1, text, tool, 0)).text)


def policy_of(here: Situation, given: Mapping[str, Value], bounds: bool) -> Policy | None:
    """Return the agent's policy with these settings, its window and its first request; None if it has no policy."""
    name, version, probing = here.agent.name, here.agent.version, here.agent.probe
    model, window = here.model, here.window
    values = dict(values_for(name, version, model))
    if not values:
        return None
    if "output" in values:
        values["output"] = probing.output
    chosen = {key: Given(name, key, value) for key, value in given.items()}
    values |= parameters_of(name, chosen.values(), version, model, bounds)
    declared = chosen.get(probing.window_key)
    if declared and (acting := effect(declared, version, model, bounds)) is not None:
        window = min(int(acting), probing.window_most or int(acting))
    label = ",".join(f"{parameter}={value}" for parameter, value in values.items())
    (policy,) = open_policy(f"{name}:{label}").create()
    policy.attach(Surroundings(window=window, summarize=lambda items, most: "A summary."))
    policy.start()
    if here.first:
        policy.after_call(View(Sizes(lambda item: len(item.text))), Usage(here.first, 0, 0, 0))
    return policy


def _recovers(policy: Policy) -> bool:
    """Return whether the policy compacts a refused request."""
    said: list[Item] = [Item("user", 0, 1, "Read the results.")]
    for number in range(6):
        place = len(said)
        said.append(Item("tool_call", place, 2 + 2 * number, "{}", "read"))
        said.append(Item("tool_result", place + 1, 3 + 2 * number, "word " * 4_000, "read", place))
    view = View(Sizes(lambda item: len(item.text) // 4)).grow(said)
    return policy.on_overflow(view, Overflow("too long", 10_000)) is not None
