"""YAML: PyYAML gives the positions of values, so that one is set without touching the others."""

import json
import textwrap
from typing import Any


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text with a value set at a path. A missing key is added at the start of its table."""
    import yaml

    line_end = "\r\n" if "\r\n" in text else "\n"
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    depth = 0
    while node is not None and depth < len(path):
        inner = _member(node, path[depth])
        if inner is None:
            break
        node, depth = inner, depth + 1
    if node is not None and depth == len(path):
        return f"{text[: node.start_mark.index]}{json.dumps(value, ensure_ascii=False)}{text[node.end_mark.index :]}"
    for key in reversed(path[depth:]):
        value = {key: value}
    lines: str = yaml.safe_dump(value, allow_unicode=True).replace("\n", line_end)
    if node is None or not node.value:
        if depth:
            raise ValueError("an empty table can't be filled")
        return (text if not text or text.endswith("\n") else text + line_end) + lines
    if node.id != "mapping":
        raise ValueError("what stands there is no table")
    at = node.start_mark.index
    if node.flow_style:
        return f"{text[: at + 1]}{json.dumps(value, ensure_ascii=False)[1:-1]}, {text[at + 1 :]}"
    indent = " " * node.start_mark.column
    return f"{text[:at]}{textwrap.indent(lines, indent).lstrip()}{indent}{text[at:]}"


def _member(node: Any, key: str | int) -> Any:
    """Return the node under a key or an index; None if there is none."""
    if isinstance(key, int):
        return node.value[key] if isinstance(node.value, list) and key < len(node.value) else None
    pairs = node.value if node.id == "mapping" else ()
    return next((inner for name, inner in pairs if name.value == key), None)
