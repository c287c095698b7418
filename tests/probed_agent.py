"""An agent that compacts, and reads its settings where Codex has them: what `check setting` is tried on."""

from __future__ import annotations

import sys
from pathlib import Path

from ctxsim.live.agent import Agent, Helper, Probing, load_agent

PROGRAM = r"""
import json, os, sys, tomllib, urllib.request
from pathlib import Path

url = os.environ["CTXSIM_URL"]
config = tomllib.loads(Path(os.environ["HOME"], ".codex/config.toml").read_text())
window = config["model_context_window"]
limit = config.get("model_auto_compact_token_limit", window)
schema = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "bash", "parameters": schema}}]
head = {"role": "system", "content": "You work. " * int(os.environ.get("HEAD", "1000"))}


def ask(messages):
    body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body,
                                                       {"Content-Type": "application/json"})) as answer:
        got = json.load(answer)
    return got["choices"][0]["message"], got["usage"]


def summary(messages):
    said, _ = ask([*messages, {"role": "user", "content": "You are performing a CONTEXT CHECKPOINT COMPACTION."}])
    return [head, {"role": "user", "content": said["content"]}]


def prompted(messages, text):
    messages.append({"role": "user", "content": text})
    prefix = None
    while True:
        message, usage = ask(messages)
        prefix = prefix or usage["prompt_tokens"]
        used = usage["total_tokens"]
        messages.append(message)
        if not message.get("tool_calls"):
            return messages
        pending = 0
        for call in message["tool_calls"]:
            file = json.loads(call["function"]["arguments"])["command"].split()[-1]
            result = Path(file).read_text()[: config.get("cut", 10**6)]
            pending += len(result) // 4
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        most = min(limit, window * 9 // 10)
        if config.get("model_auto_compact_token_limit_scope") == "body_after_prefix":
            most = min(prefix + limit, window * 95 // 100)
        if used + pending >= most:
            messages, prefix = summary(messages), None


if "--acp" in sys.argv:
    messages = [head]
    for line in sys.stdin:
        said = json.loads(line)
        if said["method"] == "session/prompt":
            print(json.dumps({"jsonrpc": "2.0", "id": 900, "method": "session/request_permission", "params": {
                "options": [{"optionId": "no", "kind": "reject_once"}, {"optionId": "yes", "kind": "allow_once"}]}}))
            sys.stdout.flush()
            assert json.loads(sys.stdin.readline())["result"]["outcome"]["optionId"] == "yes"
            messages = prompted(messages, said["params"]["prompt"][0]["text"])
        print("a line that is no JSON")
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": {"sessionId": "one"}}))
        sys.stdout.flush()
else:
    prompted([head], sys.argv[1])
"""

CONFIG = 'model = "mock" # mine\nmodel_context_window = {window}\n'


def agent(probing: Probing | None = None, head: int = 1_000) -> Agent:
    """An agent that Codex' settings are known of."""
    return Agent(
        "codex", "0.1.0", command=(sys.executable, "-c", PROGRAM, "{prompt}"), files={".codex/config.toml": CONFIG},
        env={"HEAD": str(head)}, tools={"bash": {"command": "cat {file}"}},
        helpers=(Helper("^You are performing a CONTEXT CHECKPOINT COMPACTION"),),
        probe=probing or Probing(window=272_000, window_key="model_context_window", formula="0.9 of the window"),
    )  # fmt: skip


def installed(folder: Path) -> None:
    """Put it where `ctxsim` looks for the pinned version of Codex, if $CTXSIM_AGENTS is this folder."""
    program = folder / f"codex@{load_agent('codex').version}" / "node_modules/.bin/codex"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n{PROGRAM}")
    program.chmod(0o755)
