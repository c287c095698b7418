"""One probe in a process of its own: `python -m ctxsim.live.probe.run`, its plan on stdin."""

import sys
import time
from pathlib import Path
from typing import Any

from ctxsim.live.enclosure import enclose


def main() -> None:
    """Run the plan from stdin and write its result into the plan's folder."""
    asked = sys.stdin.buffer.read()
    # This comes before imports that start threads.
    enclosed = enclose()
    import msgspec

    from ctxsim.live.app import Endpoint
    from ctxsim.live.log import Log
    from ctxsim.live.probe.acp import prompted
    from ctxsim.live.probe.growing import Growing
    from ctxsim.live.probe.plan import Probed, ProbePlan
    from ctxsim.live.run_plan import run, write_files
    from ctxsim.live.server import beside

    plan = msgspec.json.decode(asked, type=ProbePlan)
    session: Any = Growing(plan)
    began = time.monotonic()
    with Log(None) as log, beside(Endpoint(lambda name: session, log)) as url:
        write_files(plan, url)
        # Gemini CLI cuts no results if it is given prompts one by one.
        if plan.agent.probe.acp and not plan.single:
            status = prompted(plan, url, PROMPT, plan.limit_s, lambda: session.over)
        else:
            status = run(plan, url, PROMPT, 0, plan.limit_s, bool(enclosed), lambda: session.over)
    probed = Probed(tuple(session.sent), status, time.monotonic() - began, bool(enclosed))
    Path(plan.outcome).write_bytes(msgspec.json.encode(probed))


PROMPT = "Read one result after the other until I say that it is enough."


if __name__ == "__main__":
    main()
