"""YAML: PyYAML gives the positions of values, so that one is set without touching the others."""

import json
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
        return f"{text[: node.start_mark.index]}{_plain(value)}{text[node.end_mark.index :]}"
    missing = path[depth:]
    if node is None or not node.value:
        if depth:
            raise ValueError("an empty table can't be filled")
        kept = text if not text or text.endswith("\n") else text + line_end
        return kept + _lines(missing, value, "", line_end)
    if node.id != "mapping":
        raise ValueError("what stands there is no table")
    if node.flow_style:
        for key in reversed(missing[1:]):
            value = {key: value}
        at = node.start_mark.index + 1
        return f"{text[:at]}{json.dumps(str(missing[0]))}: {json.dumps(value)}, {text[at:]}"
    at = node.start_mark.index
    indent = " " * node.start_mark.column
    added = _lines(missing, value, indent, line_end)[len(indent) :]
    return f"{text[:at]}{added}{indent}{text[at:]}"


def _member(node: Any, key: str | int) -> Any:
    """Return the node under a key or an index; None if there is none."""
    if isinstance(key, int):
        return node.value[key] if isinstance(node.value, list) and key < len(node.value) else None
    pairs = node.value if node.id == "mapping" else ()
    return next((inner for name, inner in pairs if name.value == key), None)


def _lines(path: tuple[str | int, ...], value: Any, indent: str, line_end: str) -> str:
    """Return the lines of a key and its value, with the missing tables around it."""
    said = ""
    for depth, key in enumerate(path):
        last = depth == len(path) - 1
        said += f"{indent}{'  ' * depth}{key}:{' ' + _plain(value) if last else ''}{line_end}"
    return said


def _plain(value: Any) -> str:
    """Return a value in YAML, which reads JSON's form."""
    return json.dumps(value, ensure_ascii=False)
