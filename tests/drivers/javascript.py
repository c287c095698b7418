"""Frameworks in JavaScript, over a conversation."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from drivers.conversation import Row


def node(name: str, conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """A framework in JavaScript, from the folder `node_modules` that the variable NODE_MODULES names."""
    running = _node(name, os.environ["NODE_MODULES"])
    running.stdin.write(json.dumps(conversation) + "\n")
    running.stdin.flush()
    yield from json.loads(running.stdout.readline())


def npm(module: str) -> str:
    """The package and version that `npm:NAME` stands for, '' where NODE_MODULES has none."""
    package = Path(os.environ.get("NODE_MODULES", ""), module.removeprefix("npm:"), "package.json")
    return f"{package.parent.name} {json.loads(package.read_text())['version']}" if package.is_file() else ""


@cache
def _node(name: str, modules: str) -> Any:
    script = Path(__file__).with_name("javascript.mjs")
    return subprocess.Popen(["node", script, name, modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
