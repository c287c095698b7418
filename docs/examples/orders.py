"""The worked example of docs/bounds.md: one conversation under three policies, and its frontier."""

import json
from pathlib import Path

import ctxsim

asked = [
    ("orders", "{}", "order_one is due\n" * 30),
    ("stock", "{}", "order_two is due\n" * 50),
    ("time", "{}", "noon"),
    ("ship", '{"which": ["order_one", "order_two"]}', "done"),
]
messages = [{"role": "user", "content": "go"}]
for number, (tool, arguments, result) in enumerate(asked):
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": arguments}}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
messages.append({"role": "assistant", "content": "Shipped."})
Path("orders.json").write_text(json.dumps({"messages": messages}))

run = ctxsim.bench("orders.json", ["keep-all", "oracle-lossless", "drop-all"])
for label in run.labels:
    print(run.table("calls", policy=[label]).tokens_sent.tolist())
frontier = run.table("frontier").pivot(index="survival", columns="family", values="tokens")
print(frontier.loc[[0.0, 0.5, 1.0], ["results", "any"]])
