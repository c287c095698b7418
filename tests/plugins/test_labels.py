"""Labels, taken apart and put together: each form of each part."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from ctxsim.errors import InputError, LabelError
from ctxsim.plugins.labels import (
    build,
    by_words,
    chain,
    kebab,
    key,
    lasting,
    named,
    of,
    parameters,
    pasted,
    required,
    signature,
    split,
    stated,
    unquoted,
)


@dataclass
class Keeps:
    """What a label makes."""

    budget: int
    share: float = 4.0
    name: str = ""
    on: bool = False
    kept: Annotated[int, Meta(ge=1)] = field(default=1, metadata={"label": "keep"})
    made: int = field(default=0, init=False)


@dataclass
class Bare:
    """Without parameters."""


@pytest.mark.parametrize(
    ("label", "plain"),
    [("a:b=1 (bound)", "a:b=1"), (" a:b=1,\n  c=2 ", "a:b=1,c=2"), ("a+\n b", "a+b"), ("ab\ncd", "abcd"),
     ("pipe:cat\n  x", "pipe:cat x"), ("pipe:cat /\nx", "pipe:cat /\nx".replace("\n", "")),
     ("pipe:echo 'a\nb'", "pipe:echo 'a\nb'"), ("a\nb\nc", "abc"),
     ("a:b=1 \t\n\t c", "a:b=1c"), ("pipe:cat\n-n\nx", "pipe:cat -n x"), ("pipe:a,\nb", "pipe:a,b"),
     ("pipe:a+\nb", "pipe:a+b"), ("pipe:a:\nb", "pipe:a:b"), ("pipe:\"a\nb\"\nc", "pipe:\"a\nb\" c"),
     ("a (bound) x", "a (bound) x")],
)  # fmt: skip
def test_a_label_from_a_table_is_the_one_that_was_printed(label: str, plain: str) -> None:
    assert pasted(label) == plain


@pytest.mark.parametrize(
    ("label", "links"),
    [("a", ["a"]), ("a+b:c=1", ["a", "b:c=1"]), ("a++b", ["a", "", "b"]), ("a:b='1+2'", ["a:b='1", "2'"]),
     ("a+pipe:x 'y+z'", ["a", "pipe:x 'y+z'"]), ("pipe:x \\+ y+b", ["pipe:x \\+ y", "b"])],
)  # fmt: skip
def test_a_chain_has_its_links(label: str, links: list[str]) -> None:
    assert chain(label) == links


@pytest.mark.parametrize("label", ["a", "a-b:c=1,d=x y", "a+b:c=1.5", "a/1.2.0, b:c=1"])
def test_labels_of_names_and_values_run_only_what_is_known(label: str) -> None:
    assert by_words(label)


@pytest.mark.parametrize("label", ["x.py:A", "a+x.py:A", "a:c=x.py", "pipe:cat", "a+messages:f=1", "f:A", "a:c=\x07"])
def test_labels_of_files_programs_and_frameworks_run_more(label: str) -> None:
    assert not by_words(label)


def test_a_name_ends_where_parameters_begin() -> None:
    assert named("a:b=1,c=2") == ("a", "b=1,c=2") and named("file.py:Class") == ("file.py:Class", "")
    assert named("file.py:Class:b=1") == ("file.py:Class", "b=1") and named("pipe:x:b=1") == ("pipe:x:b=1", "")
    assert unquoted("a 'b+c' \\+") == "a \0\0\0\0\0 \0\0"


def test_parameters_are_pairs_and_an_estimator_takes_the_rest() -> None:
    assert split(" a:b=1,c=2=3 ") == ("a", {"b": "1", "c": "2=3"}) and split("a") == ("a", {})
    assert split("a:b=1,estimator=e:x=1,y=2") == ("a", {"b": "1", "estimator": "e:x=1,y=2"})
    for wrong in ("a:b", "a:=1", "a:b="):
        with pytest.raises(LabelError, match="is not key=value"):
            split(wrong)
    with pytest.raises(LabelError, match="b is given twice"):
        split("a:b=1,b=2")


def test_an_object_is_built_from_texts_by_type() -> None:
    made = build("policy", Keeps, "keeps", {"budget": "20", "share": "0.5", "on": "true", "keep": "3"})
    assert (made.budget, made.share, made.name, made.on, made.kept) == (20, 0.5, "", True, 3)
    assert parameters(made) == {"budget": 20, "share": 0.5, "name": "", "on": True, "keep": 3}
    assert [key(one) for one in Keeps.__dataclass_fields__.values()] == [
        "budget",
        "share",
        "name",
        "on",
        "keep",
        "made",
    ]
    assert required(Keeps) == ["budget"] and required(Bare) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, r"policy keeps needs budget=\.\.\., as in keeps:budget=20"),
     ({"budget": "x"}, "keeps: budget=x: expected a whole number$"),
     ({"budget": "1", "share": "y"}, "keeps: share=y: expected a number$"),
     ({"budget": "1..9"}, r"a range, in sweep: 1\.\.9@5"), ({"budget": "1to9"}, r"1\.\.9@5"),
     ({"budget": "1-9"}, r"1\.\.9@5"), ({"budget": "1:9"}, r"1\.\.9@5"),
     ({"budget": "1", "keep": "0"}, "keeps: keep=0: expected a whole number >= 1$"),
     ({"budget": "1", "made": "2"}, "keeps: .*made")],
)  # fmt: skip
def test_what_is_no_parameter_is_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(LabelError, match=said):
        build("policy", Keeps, "keeps", given)


def test_a_class_without_parameters_says_so() -> None:
    with pytest.raises(LabelError, match="bare has no parameters"):
        build("policy", Bare, "bare", {"x": "1"})


def test_a_label_has_all_parameters_or_those_that_differ() -> None:
    assert of("keeps", Keeps(20)) == "keeps:budget=20,share=4,on=False,keep=1"
    assert of("keeps", Keeps(20), defaults=False) == "keeps:budget=20"
    assert of("keeps", Keeps(20, 0.25, "n", True, 2), defaults=False) == (
        "keeps:budget=20,share=0.25,name=n,on=True,keep=2"
    )
    assert of("bare", Bare()) == "bare"
    assert signature("keeps", Keeps) == "keeps:budget=<int>,share=4,name=,on=False,keep=1"
    assert signature("bare", Bare) == "bare"
    assert [kebab(one) for one in ("TokenBudget", "Fifo", "A1B")] == ["token-budget", "fifo", "a1-b"]


@dataclass
class Made:
    """Says what it is made of."""

    name: str
    many: int = 0

    def __post_init__(self) -> None:
        if self.name == "ours":
            raise InputError("here", "is wrong")
        if self.name == "end":
            raise SystemExit(3)
        if self.name == "theirs":
            raise ValueError("no")


def test_what_making_an_object_raises_is_told_with_its_place() -> None:
    assert build("policy", Made, "made", {"name": "x"}) == Made("x", 0)
    with pytest.raises(InputError, match="here: is wrong"):
        build("policy", Made, "made", {"name": "ours"})
    for name, said in (("end", "SystemExit: 3"), ("theirs", "ValueError: no")):
        label = f"made:name={name}"
        with pytest.raises(LabelError, match=rf"policy {label} can't be made: {said} \(.*test_labels\.py:\d+\)$"):
            build("policy", Made, "made", {"name": name})
    with pytest.raises(LabelError, match=r"made: unknown parameter 'nam'; did you mean name\?$"):
        build("policy", Made, "made", {"nam": "x"})


def test_the_words_that_a_parameter_takes_are_told() -> None:
    @dataclass
    class Choice:
        how: Literal["cut", "clear"] | None = "cut"
        color: Color | None = None
        share: float | None = None

    for written, said in (("how=drop", "cut, clear"), ("color=red", "r, b"), ("share=none", "a number or null")):
        key, _, value = written.partition("=")
        with pytest.raises(LabelError) as raised:
            build("policy", Choice, "choice", {key: value})
        assert str(raised.value) == f"choice: {written}: expected {said}"


@pytest.mark.parametrize(
    ("value", "written"),
    [(4.0, "4"), (0.25, "0.25"), (1e-07, "1e-07"), (True, "True"), ("a b", "a b"), (0, "0"), (-2.0, "-2")],
)  # fmt: skip
def test_a_value_is_written_to_its_last_digit(value: Any, written: str) -> None:
    assert of("made", Made("x", value)) == f"made:name=x,many={written}"


def test_an_empty_text_is_left_out_where_it_is_the_default() -> None:
    assert of("made", Made("")) == "made:name=,many=0", "where it must be given it is written"
    assert of("made", Made("x"), defaults=False) == "made:name=x"
    assert of("keeps", Keeps(1, name="")) == "keeps:budget=1,share=4,on=False,keep=1"


def test_a_default_that_is_made_each_time_is_one() -> None:
    made = make_dataclass("Made", [("x", str, field(default_factory=lambda: "a"))])
    assert of("made", made(), defaults=False) == "made" and of("made", made("b"), defaults=False) == "made:x=b"
    assert signature("made", made) == "made:x=a" and required(made) == []


class Color(Enum):
    """Written by its value."""

    red = "r"
    blue = "b"


texts = st.text(max_size=9) | st.sampled_from(["a,b", "a+b", "a (bound)", "b.py:X"])
numbers, floats = st.integers(), st.floats()
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, texts), (int, numbers), (float, floats | numbers), (bool, st.booleans()), (str | None, texts | st.none()),
    (int | None, numbers | st.none()), (float | None, floats | st.none()), (int | str, texts | st.just("5") | numbers),
    (int | float, numbers | floats), (Literal["a", "b"], st.just("b")), (Color, st.sampled_from(Color)),
    (tuple[int, ...], st.tuples(numbers)), (list[str], st.lists(texts)), (frozenset[str], st.frozensets(texts)),
]  # fmt: skip
DEFAULTS = st.one_of(*(st.tuples(st.just(kind), values) for kind, values in KINDS))


@given(DEFAULTS, st.none() | texts)
def test_what_a_label_says_reads_back_as_itself(default: tuple[Any, Any], typed: str | None) -> None:
    kind, value = default
    cls = make_dataclass("Made", [("x", kind, field(default_factory=lambda: value)), ("y", int, 1)])
    given = {"y": "2"} | ({} if typed is None else {"x": typed})
    try:
        made: Any = build("policy", cls, "made", given)
        labels = lasting("policy", cls, "made", given)
    except LabelError as error:
        assert typed is not None and "made: " in str(error)
        return
    for label in labels:
        (link,) = chain(label)
        assert repr(build("policy", cls, *split(link))) == repr(made)
    assert required(cls) == []


def test_what_no_label_can_say_is_told() -> None:
    @dataclass
    class Twice:
        keep: int = 1
        tools: tuple[str, ...] = ("a",)

        def __post_init__(self) -> None:
            self.keep *= 2

    with pytest.raises(LabelError, match=r"policy twice: keep=2 becomes 4 when it is made again"):
        lasting("policy", Twice, "twice", {})
    with pytest.raises(
        LabelError, match=r"keeps: name='a \(bound\)' can't be written in a label like keeps:name=value"
    ):
        lasting("policy", Keeps, "keeps", {"budget": "1", "name": "a (bound)"})
    one = Keeps(1, share=2)
    assert stated("keeps", one, True, parameters(one)) == {"budget": "1", "share": "2", "on": "False", "keep": "1"}
    assert signature("made", make_dataclass("Made", [("x", int | None)])) == "made:x=<int | None>"


def test_a_type_that_only_its_function_or_a_type_checker_knows_is_told() -> None:
    class Mode(Enum):
        A = "a"

    @dataclass
    class Local:
        mode: Mode = Mode.A

    told = r"Local'>: an annotation can't be read: NameError: name 'Mode' is not defined; define or import its names at"
    for asked in (
        lambda: build("policy", Local, "local", {}),
        lambda: stated("local", Local(), True),
        lambda: signature("local", Local),
    ):
        with pytest.raises(LabelError, match=told):
            asked()
