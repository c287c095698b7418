"""Changes of code: where they are made, what they make of it, and whose tests have to notice."""

from __future__ import annotations

from collections import Counter as Frequencies

import pytest

from evidence.mutations.__main__ import shares
from evidence.mutations.places import Place, changed, places, sample
from evidence.mutations.rooms import own_tests, room


def changes(source: str) -> list[str]:
    return [place.change for place in places(source)]


def made(source: str, number: int = 0) -> str:
    """The module with one of its changes."""
    return changed(source, places(source)[number]).strip()


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x = a < b", "x = (a <= b)"),
        ("x = a is not None", "x = (a is None)"),
        ("x = a not in b", "x = (a in b)"),
        ("x = a < b < c", "x = (a <= b < c)"),
        ("x = a + b", "x = (a - b)"),
        ("x = a // b", "x = (a * b)"),
        ("x += y", "x -= y"),
        ("x = a and b", "x = (a or b)"),
        ("x = not a", "x = (a)"),
        ("x = 7", "x = 8"),
        ("x = 0.5", "x = 0.75"),
        ("x = True", "x = False"),
        ("if a:\n    b()", "if (not a):\n    b()"),
        ("x = a if b else c", "x = a if (not b) else c"),
        ("def f():\n    return a()", "def f():\n    return None"),
        # Letters of several bytes stand before it, and it has several lines.
        ('é("ü", 1)  # so', 'é("ü", 2)  # so'),
        ("x = (\n    a\n    + b  # so\n)", "x = (\n    (a - b)  # so\n)"),
        ('x = f"{a + b:.1f} of {c}"', "x = f'{a - b:.1f} of {c}'"),
    ],
)
def test_one_change(source: str, after: str) -> None:
    assert len(places(source)) == 1
    assert made(source) == after


@pytest.mark.parametrize(
    "source",
    [
        '"""Five of 7."""',
        "x: int | None",
        "def f(x: int | None, *, y: 'a + b') -> a | b: ...",
        "X = int | str | None",
        "import a",
        "class A:\n    def __repr__(self):\n        return str(1 + 1)",
        "raise ValueError(f'{1 + 1} of {2}')",
        "assert a < b",
        "print(1 + 1)",
        "reading.tell(1 + 1)",
        "isinstance(a, B | C)",
        "if TYPE_CHECKING:\n    import a",
        "if __name__ == '__main__':\n    pass",
        "x = 'a' + b",
        "x = a + [b]",
        "ax.plot(a, linewidth=1.5, zorder=3)",
        "zip(a, b, strict=True)",
        "@dataclass(frozen=True)\nclass A:\n    pass",
        "def f():\n    return None",
    ],
)
def test_what_only_people_or_type_checkers_read_is_left_alone(source: str) -> None:
    assert changes(source) == []


def test_places_know_where_they_are_and_the_rest_stays() -> None:
    source = "def f(a, b=1):\n    if a >= b:\n        return a - b\n    return 0\n"
    found = places(source)
    assert [(one.line, one.column, one.change) for one in found] == [
        (1, 12, "1 → 2"),
        (2, 8, ">= → >"),
        (3, 9, "return x → return None"),
        (3, 16, "- → +"),
        (4, 12, "0 → 1"),
    ]
    assert changed(source, found[3]) == source.replace("a - b", "(a + b)")
    with pytest.raises(ValueError, match="no such place"):
        changed(source, Place(1, 1, 99, "0 → 1"))


def test_a_sample_has_four_of_each_room_the_others_by_size_and_is_the_same_again() -> None:
    by_room = {
        name: [("f.py", Place(n, 1, n, "x")) for n in range(size)] for name, size in (("a", 90), ("b", 10), ("c", 2))
    }
    drawn = sample(by_room, 40, 1)
    # 12 of 40 are given; of the other 28 a gets 90/102, b 10/102. c has no more than 2.
    assert Frequencies(name for name, _, _ in drawn) == {"a": 4 + 25, "b": 4 + 3, "c": 2}
    assert len(set(drawn)) == len(drawn)
    assert drawn == sample(by_room, 40, 1) != sample(by_room, 40, 2)


def test_a_place_with_several_changes_is_taken_once() -> None:
    twice = {"a": [("f.py", Place(1, 1, 0, change)) for change in ("x", "y")]}
    assert len(sample(twice, 40, 1)) == 1


TESTS = {
    "test_view.py": "",
    "test_api.py": "",
    "policies/test_mask.py": "",
    "policies/test_policies.py": "from ctxsim.policies.fifo import Fifo",
    "policies/agents/test_codex.py": "",
    "policies/agents/test_pi.py": "",
    "readers/test_git.py": "",
    "readers/test_threads.py": "",
    "readers/formats/test_codex.py": "",
}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("view.py", ["test_view.py", "test_api.py"]),
        # A package without tests of its own, but with a file that is named after it.
        ("api/runs.py", ["test_api.py", "test_view.py"]),
        ("policies/mask.py", ["policies/test_mask.py", "policies/test_policies.py"]),
        ("policies/fifo.py", ["policies/test_policies.py", "policies/test_mask.py"]),
        ("policies/__init__.py", ["policies/test_policies.py", "policies/test_mask.py"]),
        # Folders below belong to the nearest one that has tests.
        ("policies/agents/pi/policy.py", ["policies/agents/test_pi.py", "policies/agents/test_codex.py"]),
        ("readers/source/git.py", ["readers/test_git.py", "readers/formats/test_codex.py", "readers/test_threads.py"]),
        ("readers/formats/codex.py", ["readers/formats/test_codex.py"]),
    ],
)
def test_a_rooms_own_tests(module: str, expected: list[str]) -> None:
    assert list(own_tests(module, TESTS)) == expected


def test_rooms_and_their_shares() -> None:
    assert [room(name) for name in ("view.py", "cli/show.py", "policies/agents/pi/policy.py")] == [
        ".", "cli", "policies/agents",
    ]  # fmt: skip
    table = shares([("a", True), ("b", False), ("a", False), ("a", True)])
    assert table.splitlines()[2:] == ["| a | 3 | 2 | 67% |", "| b | 1 | 0 | 0% |", "| all | 4 | 2 | 50% |"]
