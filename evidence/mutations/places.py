"""Finds where a module can be changed, and makes one such change. Everything is decided by the syntax tree."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitOr: "|", ast.BitAnd: "&", ast.And: "and", ast.Or: "or",
}  # fmt: skip
MESSAGES = frozenset({"print", "say", "warn", "note", "log", "tell", "echo", "told"})
"""Functions whose arguments are texts for people: a change there is a change of wording."""
LOOKS = frozenset({
    "alpha", "fontsize", "linewidth", "linewidths", "lw", "zorder", "markersize", "markeredgewidth", "s", "pad", "figsize", "dpi",
    "labelpad", "width", "rotation", "length", "height_ratios", "width_ratios", "labelspacing", "handlelength", "xytext", "strict",
})  # fmt: skip
"""Keyword arguments that only say how a drawing looks; and `zip`'s `strict`, which is an assertion."""
SHOWN = frozenset({"__repr__", "__str__"})


class Place(NamedTuple):
    """A node that can be changed: its line and column from 1, its number in the walk, and the change."""

    line: int
    column: int
    number: int
    change: str


class _Option(NamedTuple):
    """A change: its name, the node that it replaces, and a callback that returns the new node."""

    change: str
    node: ast.expr | ast.stmt
    changed: Callable[[], ast.AST]


def places(source: str) -> list[Place]:
    """Return every change of every place of a module, in the order of its text; a place can have several."""
    return [
        Place(node.lineno, node.col_offset + 1, number, option.change)
        for number, node in enumerate(_changeable(ast.parse(source)))
        for option in _options(node)
    ]


def changed(source: str, place: Place) -> str:
    """Return the module with the change of a place. All other text stays as it is, since some modules are read as text.

    Raises ValueError if the module has no such place.
    """
    tree = ast.parse(source)
    for number, node in enumerate(_changeable(tree)):
        if number == place.number:
            for option in _options(node):
                if option.change == place.change:
                    return _spliced(source, tree, option)
    raise ValueError(f"no such place: {place}")


def _spliced(source: str, tree: ast.Module, option: _Option) -> str:
    """Return the text with one node rewritten, or with the whole f-string around it: its nodes have no positions."""
    old, new = option.node, option.changed()
    for text in ast.walk(tree):
        if isinstance(text, ast.JoinedStr) and any(node is old for node in ast.walk(text)):
            old, new = text, _Exchange(old, new).visit(text)
            break
    written = ast.unparse(ast.fix_missing_locations(new))
    if isinstance(new, ast.expr) and not isinstance(new, ast.Constant | ast.JoinedStr):
        written = f"({written})"
    lines = source.encode().splitlines(keepends=True)
    assert old.end_lineno is not None and old.end_col_offset is not None
    before = b"".join(lines[: old.lineno - 1]) + lines[old.lineno - 1][: old.col_offset]
    after = lines[old.end_lineno - 1][old.end_col_offset :] + b"".join(lines[old.end_lineno :])
    return (before + written.encode() + after).decode()


def sample(places_by_room: dict[str, list[tuple[str, Place]]], count: int, seed: int) -> list[tuple[str, str, Place]]:
    """Return (room, file, place) for about `count` places: at least four of each room, the others by the room's size.

    A place is taken once, with one of its changes. The same seed and code give the same places. Rooms take turns, so
    that a run that is stopped early has tried some of each.
    """
    total = sum(map(len, places_by_room.values()))
    left = max(0, count - 4 * len(places_by_room))
    taken: list[tuple[int, str, str, Place]] = []
    for room, all_of_it in sorted(places_by_room.items()):
        chance = random.Random(f"{seed} {room}")
        seen: set[tuple[str, int]] = set()
        for file, place in chance.sample(all_of_it, len(all_of_it)):
            if len(seen) >= 4 + round(left * len(all_of_it) / total):
                break
            if (file, place.number) not in seen:
                seen.add((file, place.number))
                taken.append((len(seen), room, file, place))
    return [(room, file, place) for _, room, file, place in sorted(taken, key=lambda one: one[0])]


class _Exchange(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def _changeable(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield all nodes that have an option, without what only people or type checkers read."""
    for child in _behaviour(tree):
        if isinstance(child, ast.expr | ast.stmt) and any(True for _ in _options(child)):
            yield child
        yield from _changeable(child)


def _behaviour(node: ast.AST) -> Iterable[ast.AST]:
    """Return a node's children that determine behaviour."""
    match node:
        case ast.FunctionDef(name=name) if name in SHOWN:
            return []
        case ast.FunctionDef(args=args, body=body):
            return [*args.defaults, *(one for one in args.kw_defaults if one), *body]
        case ast.Lambda(body=inner):
            return [inner]
        case ast.ClassDef(body=body):
            return body
        case ast.AnnAssign(value=value):
            return [value] if value else []
        case ast.Assign(value=ast.BinOp(op=ast.BitOr()) as value) if _is_type(value):
            return []
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return []
        case ast.If() if _for_readers(node):
            return []
        case ast.Call(func=func) if _name(func) in MESSAGES:
            return []
        case ast.Call(func=ast.Name(id="isinstance"), args=[first, *_]):
            return [first]
        case ast.Call(func=ast.Name(id="cast"), args=[_, *others]):
            return others
        case ast.keyword(arg=name) if name in LOOKS:
            return []
    return ast.iter_child_nodes(node)


def _for_readers(node: ast.If) -> bool:
    """Return whether a branch is only for type checkers, or for running the file as a script."""
    match node.test:
        case ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__")):
            return True
    return False


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _is_type(left) and _is_type(right)
        case ast.Name(id=name):
            return name[0].isupper() or name in {"str", "int", "float", "bool", "bytes"}
        case ast.Subscript(value=value):
            return _is_type(value) or _name(value) in {"dict", "list", "tuple", "set", "frozenset"}
        case ast.Constant(value=None) | ast.Attribute():
            return True
    return False


def _text(*nodes: ast.expr) -> bool:
    """Return whether a node is a literal text, list or tuple: there another operator would only raise a TypeError."""
    kinds = ast.JoinedStr | ast.List | ast.Tuple
    return any(
        isinstance(n, kinds) or (isinstance(n, ast.Constant) and isinstance(n.value, str | bytes)) for n in nodes
    )


def _options(node: ast.AST) -> Iterator[_Option]:
    match node:
        case ast.Compare(left=left, ops=[op, *ops], comparators=rights) if type(op) in COMPARED:
            first = COMPARED[type(op)]
            yield _Option(_signs(op, first()), node, lambda: ast.Compare(left, [first(), *ops], rights))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in COMPUTED and not _text(left, right):
            to = COMPUTED[type(operator)]
            yield _Option(_signs(operator, to()), node, lambda: ast.BinOp(left, to(), right))
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in COMPUTED and not _text(value):
            to = COMPUTED[type(operator)]
            yield _Option(_signs(operator, to()) + "=", node, lambda: ast.AugAssign(target, to(), value))
        case ast.BoolOp(op=joined, values=values):
            opposite = ast.Or() if isinstance(joined, ast.And) else ast.And()
            yield _Option(_signs(joined, opposite), node, lambda: ast.BoolOp(opposite, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Option("not x → x", node, lambda: operand)
        case ast.Constant(value=bool(value)):
            yield _Option(f"{value} → {not value}", node, lambda: ast.Constant(not value))
        case ast.Constant(value=int(value)):
            yield _Option(f"{value} → {value + 1}", node, lambda: ast.Constant(value + 1))
        case ast.Constant(value=float(value)):
            more = value * 1.5 or 1.0
            yield _Option(f"{value} → {more}", node, lambda: ast.Constant(more))
        case ast.If(test=test) if _plain(test) and not _for_readers(node):
            yield _Option("if x → if not x", test, lambda: _negated(test))
        case ast.IfExp(test=test) if _plain(test):
            yield _Option("x if y → x if not y", test, lambda: _negated(test))
        case ast.Return(value=ast.expr() as returned) if not isinstance(returned, ast.Constant):
            yield _Option("return x → return None", node, lambda: ast.Return(ast.Constant(None)))


def _plain(test: ast.expr) -> bool:
    """Return whether a condition isn't a place itself."""
    return not isinstance(test, ast.Compare | ast.BoolOp) and not (isinstance(test, ast.UnaryOp))


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _signs(before: ast.AST, after: ast.AST) -> str:
    return f"{SIGNS[type(before)]} → {SIGNS[type(after)]}"  # type: ignore[index]
