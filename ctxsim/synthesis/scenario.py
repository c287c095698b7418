"""Scenario files: what to synthesize, which provider to assume, and which policies a bench runs by default. And
`Session`, with which generators build a transcript exchange by exchange.
"""

import importlib
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import CtxsimError, InputError, unknown
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.transcript import Call, Head, Item, Kind, Media, Needle, Transcript


class Synthesis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which generator makes the transcript; `parameters` are the generator's own."""

    generator: str
    seed: int
    tokenizer: str = "o200k_base"
    parameters: dict[str, Any] = {}


class Sighting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A report of a defect: in which software, with the version if stated; its address or file; and its date."""

    who: str
    source: str
    date: str


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sound policy does in a scenario: in words, and as a `symptom` whose value is at most `at_most`.

    `mend`: what a policy that doesn't could do. `seen`: software whose users reported that it doesn't.
    """

    that: str
    symptom: str
    at_most: float
    mend: str = ""
    seen: tuple[Sighting, ...] = ()


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario file. `provider` holds the fields of the mock provider that differ from its defaults."""

    name: str
    title: str
    description: str
    synthesis: Synthesis
    provider: dict[str, Any]
    policies: tuple[str, ...] = ("keep-all", "drop-all", "oracle-lossless", "token-budget", "summary", "mask")
    expect: Expectation | None = None

    @property
    def rules(self) -> tuple[object, ...]:
        """The provider's values and the tokenizer's name, some of which may name files."""
        return *self.provider.values(), self.synthesis.tokenizer


GENERATORS = ("job-search", "coding-agent", "needles", "turns", "rounds")
"""Names of modules here with `Parameters` and a function `generate`; only the scenario's own is imported."""

MOST_CALLS = 50_000
MOST_CHARS = 50_000_000
"""Limits of one synthetic conversation: hundreds of times as long as any that agents recorded."""


def folder() -> Path:
    """Return the folder of the scenario files: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "scenarios"
    return inside if inside.is_dir() else package.parent / "scenarios"


def scenario_names() -> list[str]:
    """Return the names of the scenarios that come with ctxsim, the documented failure first."""
    names = sorted(file.stem for file in folder().glob("*.toml"))
    return sorted(names, key=lambda name: (not name.startswith("documented"), name))


def is_scenario(name: str) -> bool:
    """Return whether a scenario of this name comes with ctxsim; the known defects too, as `defects/task-lost`."""
    return (folder() / f"{name}.toml").is_file()


def load_scenario(name: str) -> Scenario:
    """Return a bundled scenario by name, or the one in a TOML file by path.

    Raises UnknownName for an unknown name, and InputError for a file that is missing, has an invalid field (named), or
    needs trust and isn't trusted.
    """
    path = Path(name) if name.endswith(".toml") else folder() / f"{name}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise InputError(name, "no such scenario file")
        raise unknown("scenario", name, scenario_names())
    try:
        data = small_file(path)
        made = msgspec.convert({"name": path.stem, **toml_values(data, path)}, Scenario)
    except (OSError, msgspec.ValidationError) as error:
        raise InputError(path, str(error)) from None
    if name.endswith(".toml"):
        # The file may be from anyone, and its policies run if the command line names none.
        from ctxsim.safety.trust import asking, refuse

        refuse(path, data, asking(made.policies, (), Path.cwd(), path.parent, made.rules))
    return made


def synthesize(scenario: Scenario) -> Transcript:
    """Return the scenario's transcript. Raises InputError for an unknown generator or a bad parameter."""
    made = scenario.synthesis
    if made.generator not in GENERATORS:
        raise InputError(f"scenario {scenario.name}", str(unknown("generator", made.generator, GENERATORS)))
    counter = Counter(open_tokenizer(made.tokenizer))
    generator = importlib.import_module(f"ctxsim.synthesis.{made.generator.replace('-', '_')}")
    try:
        wanted = msgspec.convert(made.parameters, generator.Parameters)
        found: Transcript = generator.generate(random.Random(made.seed), counter, wanted)
    except msgspec.ValidationError as error:
        raise InputError(f"scenario {scenario.name}: synthesis.parameters", str(error)) from None
    except CtxsimError as error:
        raise InputError(f"scenario {scenario.name}", str(error)) from None
    return msgspec.structs.replace(found, name=scenario.name)


class Session:
    """Builds a transcript: items with places and message numbers, calls, and planted facts (needles)."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.calls: list[Call] = []
        self.needles: list[Needle] = []
        self._said_chars = 0

    @property
    def message(self) -> int:
        """The number of the next message."""
        return self.items[-1].message + 1 if self.items else 1

    def user(self, text: str) -> int:
        """Add a user text, and return its place."""
        return self._add("user", self.message, text)

    def respond(self, text: str, tool: str = "", *arguments: str, call_id: str = "", thoughts: str = "") -> None:
        """Add a call with its response: reasoning and text if given, and a tool call for each of `arguments`. The id of
        a tool call is `call_id` or, if that is empty, made from its place.
        """
        start, message = len(self.items), self.message
        if thoughts:
            self._add("reasoning", message, thoughts)
        if text:
            self._add("assistant", message, text)
        for asked in arguments:
            self._add("tool_call", message, asked, tool, None, call_id or f"call_{len(self.items)}")
        self.calls.append(Call(start, len(self.items)))

    def result(self, *texts: str, media: tuple[Media, ...] = ()) -> int:
        """Add the results that answer the newest tool calls, each with `media`, and return the last one's place."""
        message = self.message
        called = [item for item in self.items[self.calls[-1].start :] if item.kind == "tool_call"]
        for one, text in zip(called, texts, strict=True):
            self._add("tool_result", message, text, one.tool, one.place, one.call_id, media)
        return len(self.items) - 1

    def _add(self, kind: Kind, message: int, text: str, *more: Any) -> int:
        """Add an item, and return its place. Raises CtxsimError beyond MOST_CALLS or MOST_CHARS."""
        self._said_chars += len(text)
        if len(self.calls) >= MOST_CALLS or self._said_chars > MOST_CHARS:
            raise CtxsimError(
                f"synthesis.parameters ask for more than {MOST_CALLS:,} calls or {MOST_CHARS:,} characters"
            )
        self.items.append(Item(kind, len(self.items), message, text, *more))
        return len(self.items) - 1

    def transcript(self, head: Head) -> Transcript:
        """Return the transcript, still without a name, with the planted facts that some call uses."""
        needles = tuple(needle for needle in self.needles if needle.used)
        return Transcript("", head, tuple(self.items), tuple(self.calls), format="synthetic", needles=needles)


def schema(tool: str, description: str, fields: dict[str, str], required: Iterable[str]) -> str:
    """Return a tool's schema for the head, as compact JSON; `fields` maps parameter names to types."""
    properties = {field: {"type": kind} for field, kind in fields.items()}
    wanted = {"type": "object", "properties": properties, "required": list(required)}
    return json.dumps({"name": tool, "description": description, "input_schema": wanted}, separators=(",", ":"))
