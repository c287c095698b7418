"""What stands around each item of a request, by a framing whose numbers tell which of them were added."""

from __future__ import annotations

import msgspec
import pytest

from ctxsim.simulator.ledger.frames import Frames, decoded, same_shape
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import Framing, Vendor
from ctxsim.transcript import Head, Item

EACH = Framing(
    request=3, message=1, reasoning=10, calls=100, call=1_000, parallel=10_000, answer=100_000, results=1_000_000,
    result=10_000_000, tools={"big*": 500}, schemas=0.5,
)  # fmt: skip
U, T, A, C, R = "user", "reasoning", "assistant", "tool_call", "tool_result"


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Frames:
    framing = msgspec.structs.replace(EACH, **getattr(request, "param", {}))
    monkeypatch.setattr("ctxsim.simulator.ledger.frames.load_vendor", lambda name: Vendor("own", framing=framing))
    provider = Provider(model="big-one")
    return Frames(provider, provider.counter())


def items(*said: tuple[int, str]) -> list[Item]:
    """Items of two tokens and of a tool's name of one, given by message and kind."""
    return [
        Item(kind, place, message, " a a", " b" if kind in (C, R) else "")  # type: ignore[arg-type]
        for place, (message, kind) in enumerate(said)
    ]


def around(frames: Frames, made: list[Item]) -> list[int]:
    """What each has beside its own two tokens; the name of a called tool is the call's own."""
    return [
        frames.item(item, made[at - 1] if at else None, made[at - 2] if at > 1 else None)[0] - 2 - (item.kind == C)
        for at, item in enumerate(made)
    ]


def test_calls_and_what_stands_before_them(frames: Frames) -> None:
    # The first call of a response brings `calls`, and `answer` behind a text; its second brings `parallel`.
    assert around(frames, items((0, U), (1, T), (1, A), (1, C), (1, C), (1, C))) == [1, 11, 0, 101_100, 11_000, 1_000]
    assert around(frames, items((0, U), (1, T), (1, C), (1, C))) == [1, 11, 1_100, 11_000]
    assert around(frames, items((1, C), (1, C), (1, C))) == [1_101, 11_000, 1_000]
    assert around(frames, items((1, C), (2, C), (2, C), (3, U))) == [1_101, 1_101, 11_000, 1]


@pytest.mark.parametrize(("frames", "second"), [({}, 10_000_000), ({"results_apart": True}, 11_000_001)], indirect=["frames"])  # fmt: skip # noqa: E501
def test_results_of_one_response(frames: Frames, second: int) -> None:
    assert around(frames, items((0, C), (1, R), (1, R), (2, R), (2, U))) == [
        1_101, 11_000_001, second, 11_000_001, 0
    ]  # fmt: skip


@pytest.mark.parametrize("frames", [{"named_results": True}], indirect=True)
def test_a_result_may_go_out_with_its_tools_name(frames: Frames) -> None:
    named, nameless = items((1, R), (2, R))
    assert around(frames, [named, msgspec.structs.replace(nameless, tool="")]) == [11_000_002, 11_000_001]


@pytest.mark.parametrize("frames", [{"arguments": "decoded", "parameter": 7}], indirect=True)
def test_decoded_arguments(frames: Frames) -> None:
    call = Item("tool_call", 0, 0, '{" a": " a a", " b": [1]}', " c")
    text = Provider().counter().text
    assert frames.texts(call) == (" c", " a", " a a", " b", "[1]")
    # Message, calls, call, two parameters; the tool, two names, a text of two and a list.
    assert frames.item(call, None, None)[0] == 1 + 100 + 1_000 + 2 * 7 + 1 + 2 + 2 + text("[1]")
    result = Item("tool_result", 0, 0, " a", " c")
    assert frames.texts(result) == result.texts
    other = call.with_text('{" a": " a b", " b": [1]}')
    # Tool, name and the first word of the value: behind it nothing is alike.
    assert frames.shared(call, call) == 1 + 2 + 2 + text("[1]") and frames.shared(call, other) == 1 + 1 + 1


def test_head(frames: Frames) -> None:
    # " a a a" and "" are tools of three tokens and none: half of that is rounded to two.
    tools = (" a a a", "")
    assert frames.head(Head("", (), hidden=40))[0] == [43, 0]
    assert frames.head(Head(" a a", tools, hidden=40))[0] == [3 + 40 + 2 + 500, 3]
    other = [frames.head(Head(system, tools))[1] for system in (" a", " b", " a")]
    assert other[0] == other[2] != other[1] and other[0][0] == other[1][0]


def test_an_item_is_rendered_by_what_stands_before_it_whenever_it_is_asked_for(frames: Frames) -> None:
    user, first, second = items((0, U), (1, C), (1, C))
    third = msgspec.structs.replace(second, place=3)
    other = msgspec.structs.replace(first, place=9, text="another")
    for _ in range(2):
        assert frames.item(second, first, user)[0] == 11_003
        assert frames.item(second, other, user)[0] == 11_003, "of the same kind and message"
        assert frames.item(second, user, None)[0] == 1_104
        assert frames.item(third, second, first)[0] == 1_003
        assert frames.item(third, second, user)[0] == 11_003
        assert frames.item(second.with_text(" a"), first, user)[0] == 11_002
    # What goes over the wire tells items apart, and where a message begins; our own numbers don't.
    hashes = [frames.item(item, last, None)[1] for item, last in ((second, first), (second, user), (third, second))]
    assert hashes[0] == hashes[2] != hashes[1]


def test_shapes() -> None:
    user, call, same, other = (Item(kind, 0, message, str(n)) for n, (kind, message) in enumerate(  # type: ignore[arg-type]
        [(U, 1), (C, 1), (C, 1), (C, 2)]
    ))  # fmt: skip
    assert same_shape(call, same) and same_shape(None, None) and same_shape(user, user)
    assert not any(same_shape(call, one) or same_shape(one, call) for one in (user, other, None))


@pytest.mark.parametrize(("arguments", "parts"), [
    ('{"a": "x", "b": 1.50, "c": {"d": "é"}}', (("a", "x"), ("b", "1.5"), ("c", '{"d": "é"}'))), ("{}", ()),
    ('"x"', (("", '"x"'),)), ("", (("", ""),)),
])  # fmt: skip
def test_arguments_as_names_and_texts(arguments: str, parts: tuple[tuple[str, str], ...]) -> None:
    assert decoded(arguments) == parts


def test_arguments_nested_too_deep_to_be_read_are_one_text() -> None:
    deep = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert decoded(deep) == (("", deep),)
