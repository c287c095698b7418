"""Scenario files: what to synthesize, which provider to assume, and which policies a bench runs by default."""

import importlib
import random
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import CtxsimError, InputError, unknown
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.transcript import Transcript


class Synthesis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which generator makes the transcript; `parameters` are the generator's own."""

    generator: str
    seed: int
    tokenizer: str = "o200k_base"
    parameters: dict[str, Any] = {}


class Sighting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a defect was reported: whose, with the version if one is stated; an address or a file; and when."""

    who: str
    source: str
    date: str


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sound policy does in a scenario, in words, and as a `symptom` of which there is at most so much.

    `mend`: what one that doesn't could do. `seen`: who didn't, by their own users.
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


GENERATORS = ("job-search", "coding-agent", "needles", "turns", "rounds")
"""Each has a file here with a function `generate`; only that of the scenario is imported."""


def folder() -> Path:
    """Where the scenario files are: inside an installed package, or beside it in a checkout."""
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

    Raises UnknownName for a name, InputError naming the field for a file that doesn't fit.
    """
    path = Path(name) if name.endswith(".toml") else folder() / f"{name}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise InputError(name, "no such scenario file")
        raise unknown("scenario", name, scenario_names())
    try:
        values = toml_values(small_file(path), path)
        return msgspec.convert({"name": path.stem, **values}, Scenario)
    except (OSError, msgspec.ValidationError) as error:
        raise InputError(path, str(error)) from None


def synthesize(scenario: Scenario) -> Transcript:
    """Return the scenario's transcript. Raises InputError for an unknown generator or a bad parameter."""
    made = scenario.synthesis
    if made.generator not in GENERATORS:
        raise InputError(f"scenario {scenario.name}", str(unknown("generator", made.generator, GENERATORS)))
    counter = Counter(open_tokenizer(made.tokenizer))
    generator = importlib.import_module(f"ctxsim.synthesis.{made.generator.replace('-', '_')}")
    try:
        found: Transcript = generator.generate(scenario.name, random.Random(made.seed), counter, made.parameters)
    except msgspec.ValidationError as error:
        raise InputError(f"scenario {scenario.name}: synthesis.parameters", str(error)) from None
    except CtxsimError as error:
        raise InputError(f"scenario {scenario.name}", str(error)) from None
    return found
