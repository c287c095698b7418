"""Over a share of the window, everything but the last messages becomes one summary, which ctxsim writes and bills.

ctxsim bench LOGS --policy 'pipe:python docs/examples/summarize.py 0.7 10'
"""

import json
import sys

AT, KEEP = float(sys.argv[1]), int(sys.argv[2])

made = 0

for line in sys.stdin:
    asked = json.loads(line)
    if asked["moment"] == "start":
        made = 0
        # Summaries are rare: asking for all messages each time saves keeping them.
        answer = {"ctxsim": 1, "moments": ["before_call"], "send": "all"}
    else:
        messages, answer = asked["messages"], {"unchanged": True}
        start = max(0, len(messages) - KEEP)
        # A result must not lose its call.
        while start > 0 and messages[start]["role"] == "tool":
            start -= 1
        if asked["estimate"] > AT * asked["window"] and any("made" not in m for m in messages[:start]):
            made += 1
            summary = {"id": f"summary {made}", "role": "user", "content": "{summary}", "summarize": True}
            answer = {"messages": [summary] + [{"id": message["id"]} for message in messages[start:]]}
    print(json.dumps(answer), flush=True)
