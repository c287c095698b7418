"""What a policy's own formula expects of a setting: the tokens at which it compacts, and what it cuts results to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxsim.live.agent import Agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe.drive import setting_of
from ctxsim.live.probe.verdict import Awaited
from ctxsim.policies import Overflow, Policy, Surroundings, open_policy
from ctxsim.policies.agents.settings import TYPES, Setting, settings_of, values_for
from ctxsim.transcript import Item, Sizes, Usage
from ctxsim.view import View


class Acting(NamedTuple):
    """A value as the agent takes it, None where it doesn't; `how` is why it isn't the value that was set."""

    value: Value | None
    how: str = ""


def taken(one: Setting, value: Value) -> Acting:
    """Return what an agent makes of a value: outside its bounds it is clamped, ignored or refused."""
    typed = _typed(one, value)
    acting = one.taken(typed)
    if acting is None:
        return Acting(None, "refused" if one.outside == "refused" else "ignored")
    return Acting(acting, "clamped" if one.problem(typed) else "")


def _typed(one: Setting, value: Value) -> Value:
    """A variable's text as a value of the setting's type, where it is one."""
    if not one.env or not isinstance(value, str) or value in one.words:
        return value
    if one.thousands and value[-1:].lower() == "k":
        value = f"{value[:-1]}000"
    try:
        return int(value) if one.type == "int" else float(value) if one.type == "ratio" else value
    except ValueError:
        return value


class Situation(NamedTuple):
    """An agent in its version with a model, the window that is declared for it, and its first request's tokens."""

    agent: Agent
    model: str
    window: int
    first: int = 0


def expected(here: Situation, given: Mapping[str, Value], bounds: bool = True) -> Awaited:
    """Return when the agent's policy compacts with settings. Without `bounds` each value is taken as it is."""
    policy = policy_of(here, given, bounds)
    if policy is None:
        return Awaited("never")
    if (threshold := policy.fires_at()) is not None:
        return Awaited("proactive", threshold)
    return Awaited("only after a refusal" if _recovers(policy) else "never")


def cut_to(here: Situation, given: Mapping[str, Value], text: str, tool: str) -> int | None:
    """Return the characters that the policy leaves of a result of a tool; None where there is no policy."""
    policy = policy_of(here, given)
    return None if policy is None else len(policy.on_tool_result(Item("tool_result", 1, 1, text, tool, 0)).text)


def policy_of(here: Situation, given: Mapping[str, Value], bounds: bool = True) -> Policy | None:
    """Return the agent's policy with settings, told of its window and of its first request; None where it has none.

    Of several settings of one parameter the one of the greater precedence holds.
    """
    known = settings_of(here.agent.name)
    values: dict[str, Any] = values_for(here.agent.name, here.agent.version, here.model)
    if not values:
        return None
    window = here.window
    chosen = [(setting_of(known, key), value) for key, value in given.items()]
    for one, value in sorted(chosen, key=lambda pair: pair[0].precedence):
        acting = taken(one, value).value if bounds else _typed(one, value)
        if acting is None or not one.plain(acting) or not isinstance(acting, TYPES[one.type]):
            continue
        if one.cap.isdigit() and isinstance(acting, int):
            acting = min(acting, int(one.cap))
        if one.parameter:
            values[one.parameter] = not acting if one.opposite else acting
        if one.key == here.agent.probe.window_key:
            window = min(int(acting), here.agent.probe.window_most or int(acting))
    if "output" in values and not any(one.parameter == "output" for one, _ in chosen):
        values["output"] = here.agent.probe.output
    label = ",".join(f"{name}={value}" for name, value in values.items())
    spec = open_policy(f"{here.agent.name}:{label}")
    (policy,) = spec.create()
    policy.attach(Surroundings(window=window, summarize=lambda items, most: "A summary."))
    policy.start()
    if here.first:
        policy.after_call(View(Sizes(lambda item: len(item.text))), Usage(here.first, 0, 0, 0))
    return policy


def _recovers(policy: Policy) -> bool:
    """Whether a refused request is compacted."""
    said: list[Item] = [Item("user", 0, 1, "Read the results.")]
    for number in range(6):
        place = len(said)
        said.append(Item("tool_call", place, 2 + 2 * number, "{}", "read"))
        said.append(Item("tool_result", place + 1, 3 + 2 * number, "word " * 4_000, "read", place))
    view = View(Sizes(lambda item: len(item.text) // 4)).grow(said)
    return policy.on_overflow(view, Overflow("too long", 10_000)) is not None
