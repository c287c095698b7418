"""Compares advice by search with the best of all combinations: is the choice the same, and how long did each take?

    python -m evidence.advice_search FOLDER...

For each folder of recordings `ctxsim advise` runs, and then a bench of all combinations of all values that the search
could have reached: the first values of each setting, and those halfway between them. Two choices are equal if they are
the same, or if their amounts differ by no more than the rule's HARDLY. CPU seconds are of this process.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path

from ctxsim.answers.advice.baseline import AsSetAdvice
from ctxsim.answers.advice.baseline import advise as by_rule
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.setting_names import told
from ctxsim.answers.advice.verdict import changed
from ctxsim.api.advising import advise
from ctxsim.api.runs import bench
from ctxsim.policies import agent_of
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import around, begin, label_of
from ctxsim.readers import sources
from ctxsim.readers.glance import formats_of


def grid(agent: str) -> list[list[Given]]:
    """Return every combination of an agent's settings: each one unset, at a first value, or halfway between two."""
    first = begin(agent)
    by_key: dict[str, list[Given]] = {}
    for one in first:
        by_key.setdefault(one.key, []).append(one)
    for ones in by_key.values():
        values = [one.value for one in ones]
        near = {other for one in list(ones) for other in around(one, values)}
        ones += sorted(near, key=lambda one: str(one.value))
    choices = [[None, *ones] for ones in by_key.values()]
    return [[one for one in chosen if one is not None] for chosen in product(*choices)]


def compared(folder: Path) -> list[tuple[str, str, str, float, float, float, int]]:
    """Return by agent the advice, the best of all, the difference of their amounts, CPU seconds, and combinations."""
    agents = list(dict.fromkeys(filter(None, map(agent_of, formats_of(sources(str(folder)))))))
    began = time.process_time()
    found = {one.agent: one for one in advise(folder)}
    searched = time.process_time() - began
    rows = []
    for agent in agents:
        tried = grid(agent)
        if agent not in found or len(tried) < 2:
            continue
        began = time.process_time()
        labels = ["keep-all", *dict.fromkeys(map(label_of, [[]] * len(tried), tried))]
        run = bench([str(folder)], labels, text="none", brackets=False)
        best = by_rule(run, "dollars", agent)
        taken = time.process_time() - began
        assert isinstance(best, AsSetAdvice)
        share = best.take.share(best.amount)
        ours = found[agent].share.value if found[agent].share else 1.0
        rows.append(
            (
                agent, told(found[agent].settings, False) or "nothing", told(changed(best), False) or "nothing",
                ours - (share.value if share and changed(best) else 1.0), searched, taken, len(tried),
            )
        )  # fmt: skip
    return rows


def main() -> None:
    equal = folders = 0
    seconds = [0.0, 0.0]
    for name in sys.argv[1:]:
        for agent, ours, best, apart, searched, taken, combinations in compared(Path(name)):
            folders += 1
            same = ours == best or abs(apart) <= HARDLY
            equal += same
            seconds = [seconds[0] + searched, seconds[1] + taken]
            print(
                f"{Path(name).name} ({agent}): advised {ours}; of {combinations} combinations {best}; "
                f"{100 * apart:+.1f} points; {searched:.1f} and {taken:.1f} s",
                flush=True,
            )
    if folders:
        print(
            f"equal in {equal} of {folders}; CPU {seconds[0]:.0f} s of {seconds[1]:.0f} s: {seconds[0] / seconds[1]:.0%}"
        )


if __name__ == "__main__":
    main()
