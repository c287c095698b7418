"""Known defects in real agents: an agent plays a defect's scenario and is judged by the requests it sent."""

from typing import Any, cast

import msgspec

from ctxsim.live.observed import Observation
from ctxsim.live.script import Script
from ctxsim.policies import open_policy
from ctxsim.runs.doctor import SYMPTOMS, Defect, Diagnosis
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import Sent, replay

UNPLAYED = {
    "big-arguments": "an agent's calls have arguments of their own",
    "big-head": "an agent has a head of its own",
    "big-head-uncounted": "an agent has a head of its own",
    "empty-request": "agents' heads alone are larger than its window",
    "images": "results are files of text",
    "thinking": "the endpoint doesn't think",
}
"""Defects whose scenario can't be played to an agent, and why."""


class _Lived:
    """A `Sent` with the agent's own attempts, status, summary calls and cost in place of the replay's."""

    def __init__(self, sent: Sent, seen: Observation) -> None:
        self._sent = sent
        asked = [one for one in seen.helpers.get(sent.call, ()) if one.status == 200 and not one.retry]
        # Requests for titles and checks are no part of compaction.
        summaries = [one for one in asked if one.kind == "summary"]
        self.summary_calls = len(summaries)
        self.cost_usd = None if sent.cost_usd is None else sent.cost_usd + sum(one.cost_usd or 0.0 for one in summaries)
        self.attempts = len(seen.attempts[sent.call - 1])
        refused = seen.refused.get(sent.call)
        self.status = "ok" if refused is None else "invalid_pairs" if "nvalid request" in refused else "overflow"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sent, name)


def examine_driven(defect: Defect, seen: Observation, script: Script, provider: Provider) -> Diagnosis | None:
    """Return an agent's diagnosis; None if the agent ended early without the defect, and could have shown it later."""
    counter = provider.counter()
    sent = [_Lived(one, seen) for one in replay(seen.transcript, seen.spec(), provider, counter)]
    whole = list(replay(seen.transcript, open_policy("keep-all"), provider, counter))
    # An agent may drop the text that it writes around a prompt, so only the user's own words are looked for.
    said = script.transcript.items
    items = tuple(said[item.place] if item.kind == "user" else item for item in seen.transcript.items)
    judged = msgspec.structs.replace(seen.transcript, items=items)
    value = SYMPTOMS[defect.expectation.symptom](judged, cast("list[Sent]", sent), whole)
    found = Diagnosis(defect, seen.label, round(value, 3))
    return found if found.has_it or len(sent) == len(script.steps) else None
