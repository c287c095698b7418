"""Raw material: invented people, firms and sentences. Nobody in it exists."""

from __future__ import annotations

import random
from base64 import b64encode

FIRST = ("Ana", "Bruno", "Celia", "Dario", "Edda", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Karin", "Luca", "Mina")
LAST = ("Abel", "Brandt", "Costa", "Duarte", "Ekwall", "Ferro", "Grell", "Hoshi", "Ivens", "Jansen", "Kovac", "Lindt")
FIRMS = ("Northquay", "Velora", "Tessellate", "Brightfen", "Quillstone", "Marrowbay", "Oxbow Labs", "Palefire")
CITIES = ("Lisbon", "Utrecht", "Leipzig", "Porto", "Ghent", "Malmo", "Graz", "Turin")
SKILLS = ("Python", "Go", "Kubernetes", "Terraform", "PostgreSQL", "Kafka", "gRPC", "Airflow", "Rust", "React", "dbt")

_SUBJECTS = (
    "The team", "Our platform group", "The hiring panel", "Each squad", "The on-call rotation", "Your future manager",
    "The data pipeline", "This role", "A typical week", "The interview process", "The relocation package", "Our office",
)  # fmt: skip
_VERBS = (
    "works closely with", "is responsible for", "has recently rebuilt", "takes care of", "depends on", "reviews",
    "plans to replace", "writes documents about", "measures", "reports every month on", "shares its notes with",
)  # fmt: skip
_OBJECTS = (
    "the ingestion services", "customer-facing dashboards", "a small set of internal tools", "the billing system",
    "partners in three countries", "the quality of incoming events", "the people who run the machines",
    "a backlog of open questions", "the cost of storage", "two long-running migrations", "the release calendar",
)  # fmt: skip
_TAILS = (
    "because reliability matters more than speed", "and nobody works on it alone", "as part of the yearly plan",
    "with a budget of its own", "since the last reorganisation", "which keeps the weekend quiet",
    "and writes down what it learns", "before the end of the quarter", "with help from the design group",
)  # fmt: skip


def sentence(rng: random.Random) -> str:
    """One plain sentence."""
    return f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}, {rng.choice(_TAILS)}."


def prose(rng: random.Random, words: int) -> list[str]:
    """At least so many words of plain sentences."""
    found: list[str] = []
    while len(found) < words:
        found += sentence(rng).split(" ")
    return found


def person(rng: random.Random) -> tuple[str, str]:
    """A name and the local part of an address."""
    first, last = rng.choice(FIRST), rng.choice(LAST)
    return f"{first} {last}", f"{first}.{last}".lower()


def host(firm: str) -> str:
    """An address nobody has: reserved top-level domain."""
    return f"{firm.lower().replace(' ', '')}.example"


def digits(rng: random.Random, n: int) -> str:
    """A number of n digits that doesn't start with 0."""
    return str(rng.randrange(10 ** (n - 1), 10**n))


def hexadecimal(rng: random.Random, n: int) -> str:
    """n hexadecimal digits with at least one letter and one digit."""
    while True:
        text = f"{rng.getrandbits(4 * n):0{n}x}"
        if not text.isdigit() and not text.isalpha():
            return text


def base64_blob(rng: random.Random, n_bytes: int) -> str:
    """What an inline image looks like."""
    return b64encode(rng.randbytes(n_bytes)).decode()


def picked(rng: random.Random, options: tuple[str, ...], n: int) -> list[str]:
    """n different options, in random order."""
    left = list(options)
    return [left.pop(rng.randrange(len(left))) for _ in range(n)]
