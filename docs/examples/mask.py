"""The built-in policy `mask` as a program of its own: old tool results become one line.

ctxsim bench LOGS --policy 'pipe:python docs/examples/mask.py 10'
"""

import json
import sys

KEEP = int(sys.argv[1]) if len(sys.argv) > 1 else 10
PREFIX = "Old environment output: "

whole = []  # the results that aren't masked yet, oldest first

for line in sys.stdin:
    asked = json.loads(line)
    if asked["moment"] == "start":
        # A new conversation: forget the last one.
        whole = []
        answer = {"ctxsim": 1, "moments": ["before_call"]}
    else:
        # Beside another policy, messages that are known may change or go.
        changed = {message["id"]: message for message in asked.get("changed", [])}
        whole = [changed.get(message["id"], message) for message in whole if message["id"] not in asked.get("gone", [])]
        whole += [message for message in asked["new"] if message["role"] == "tool"]
        cut = max(0, len(whole) - KEEP)
        old, whole = whole[:cut], whole[cut:]
        change = {
            message["id"]: {"content": f"{PREFIX}({len(message['content'].splitlines())} lines omitted)"}
            for message in old
            if not message["content"].startswith(PREFIX)
        }
        answer = {"change": change} if change else {"unchanged": True}
    print(json.dumps(answer), flush=True)
