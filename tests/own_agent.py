"""An agent of somebody's own: a loop around a chat API that remembers what was said in its home."""

from __future__ import annotations

AGENT = """
import json, os, sys, urllib.request
from pathlib import Path

url, state = os.environ["CTXSIM_URL"], Path(os.environ["HOME"], "state.json")
messages = json.loads(state.read_text()) if state.exists() else []
messages.append({"role": "user", "content": sys.argv[1]})
json_type = {"Content-Type": "application/json"}
schema = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "bash", "parameters": schema}}]
while True:
    body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body, json_type)) as answer:
        message = json.load(answer)["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        file = json.loads(call["function"]["arguments"])["command"].split()[-1]
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": Path(file).read_text()})
state.write_text(json.dumps(messages))
print(os.environ.get("SECRET", "clean"))
"""

SUMMARIZES = AGENT.replace(
    "while True:\n",
    """while True:
    if len(messages) > 4:
        messages.append({"role": "user", "content": "Summarize what was done, for another model."})
        body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
        with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body, json_type)) as answer:
            said = json.load(answer)["choices"][0]["message"]["content"]
        messages = [{"role": "user", "content": "A summary of the work so far: " + said}]
""",
)
"""The same, which asks for a summary in the middle of it, as agents do of which nothing is known."""
