"""Policies of frameworks against the frameworks' own code over an invented conversation: recorded, and live."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from drive_upstream import DRIVERS, REPORTING
from drivers.conversation import invented
from drivers.javascript import npm
from project import TESTS
from upstream import Row, all_rows, difference, read_lines, sent, transcript_of

RECORDED = TESTS / "policies" / "frameworks" / "sent"
CONVERSATION = invented()
TRANSCRIPT = transcript_of(CONVERSATION)


def differences(policy: str, upstream: Iterable[Any]) -> list[str]:
    """Where our requests differ from upstream's, a line for each call that does; all calls are looked at."""
    parameters = DRIVERS[policy][2]
    label = f"{policy}:{parameters}" if parameters else policy
    found = []
    theirs: list[list[Row]] = list(upstream)
    ours = list(sent(label, TRANSCRIPT, usage=(lambda view, call: call.usage) if policy in REPORTING else None))
    assert len(theirs) == len(ours) == len(TRANSCRIPT.calls)
    for call, (mine, other) in enumerate(zip(ours, theirs, strict=True), 1):
        if apart := difference(mine, other, partial(all_rows, TRANSCRIPT, call)):
            found.append(f"call {call}: {apart}")
    return found


@pytest.mark.parametrize("policy", DRIVERS)
def test_every_message_is_what_upstream_sent_when_it_was_recorded(policy: str) -> None:
    assert differences(policy, read_lines(RECORDED / f"{policy}.jsonl.gz")) == []


@pytest.mark.filterwarnings("ignore")  # Upstream's own, about what it does; other tests make errors of warnings.
@pytest.mark.parametrize("policy", DRIVERS)
def test_every_message_is_what_the_installed_framework_sends(policy: str) -> None:
    drive, module, _ = DRIVERS[policy]
    if module.startswith("npm:"):
        if not npm(module):
            pytest.skip(f"no {module} in NODE_MODULES")
    else:
        pytest.importorskip(module)
    assert differences(policy, drive(CONVERSATION)) == []


def test_the_invented_conversation_makes_every_policy_act() -> None:
    """What never acted would be equal to anything."""
    whole = [all_rows(TRANSCRIPT, call) for call in range(1, len(TRANSCRIPT.calls) + 1)]
    for policy in DRIVERS:
        changed = [
            theirs != rows for theirs, rows in zip(read_lines(RECORDED / f"{policy}.jsonl.gz"), whole, strict=True)
        ]
        assert sum(changed) > len(whole) / 3, policy
