"""The rules of each vendor, as data: framing, prompt cache, rate limit, reasoning, the wording of an overflow.

One TOML file per vendor in `vendors/`, or the user's own; each section names its source and date.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from ctxsim.counting.tokenizers import bare
from ctxsim.errors import InputError, unknown
from ctxsim.plugins.files import config_folder, small_file, toml_values, user_file

T = TypeVar("T")

Framed = Annotated[int, msgspec.Meta(ge=-1_000_000, le=1_000_000)]
"""Tokens that frame one part of a request; negative where a part takes fewer than its text."""

Size = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000_000)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]

Resend = Literal["never", "current_turn", "all"]

Breakpoints = Literal["last-two-user", "system-tools-last", "automatic", "none"]
"""Where an agent marks its requests for a prompt cache."""


def fits(model: str, pattern: str) -> bool:
    """Whether a model's bare name fits a pattern; "4.5" and "4-5" are the same version, capitals don't matter."""
    return fnmatchcase(bare(model).replace(".", "-"), pattern.lower().replace(".", "-"))


def first_fit(model: str, table: Mapping[str, T], otherwise: T) -> T:
    """Return a table's value for the first pattern that a model fits; `otherwise` if it fits none."""
    return next((found for pattern, found in table.items() if fits(model, pattern)), otherwise)


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    source: str = ""
    date: date | None = None


class Framing(_Rule, frozen=True):
    """Framing tokens, by what they frame.

    `request` once, `message` for each wire message; `reasoning` for each block of it; `calls` for each response that
    calls tools, `call` for each call in it, `parallel` if they are several and `answer` if a text stands before them;
    `results` for each message of results and `result` for each result in it. `results_apart`: each result
    is a wire message of its own, also where several answer one response. `named_results`: a result goes out with its
    tool's name. `arguments = "decoded"`: an argument is sent as plain text between marks of `parameter` tokens, not as
    JSON. `schemas` is the share of a tool schema's JSON that is sent. `tools`: tokens of the vendor's own tool prompt,
    by model. `by_model`: what differs for the first pattern that fits.
    """

    request: Framed = 0
    message: Framed = 0
    results_apart: bool = False
    reasoning: Framed = 0
    calls: Framed = 0
    call: Framed = 0
    parallel: Framed = 0
    answer: Framed = 0
    results: Framed = 0
    result: Framed = 0
    named_results: bool = False
    arguments: Literal["json", "decoded"] = "json"
    parameter: Framed = 0
    schemas: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0
    schemas_source: str = ""
    tools: dict[str, Framed | str] = {}
    by_model: dict[str, dict[str, Framed | str]] = {}

    def of(self, model: str) -> Framing:
        """The framing of one model."""
        found = first_fit(model, self.by_model, {})
        differs = {key: value for key, value in found.items() if key not in ("source", "date")}
        return msgspec.structs.replace(self, **differs) if differs else self

    def of_tools(self, model: str) -> int:
        """Tokens of the vendor's own tool prompt; 0 where none is documented."""
        found = first_fit(model, self.tools, 0)
        return found if isinstance(found, int) else 0


class CacheRule(_Rule, frozen=True):
    """How a prompt cache matches, from how many tokens on, and for how long.

    `breakpoints`: up to `max_breakpoints` marks, and one more at the end if `implicit`; from each it looks back over
    `lookback` positions and at most `readable` earlier marks. `prefix`: steps of `step` tokens, `partial_items` also
    inside an item; for the models of `responses` an answer is kept like the request; with `paid_writes` what is not
    read is written, and billed as a write. Lifetimes are seconds.
    """

    kind: Literal["none", "breakpoints", "prefix"] = "none"
    minimum_tokens: Size = 0
    minimum_by_model: dict[str, Size] = {}
    step: Positive = 1
    step_by_model: dict[str, Positive] = {}
    partial_items: bool = False
    responses: tuple[str, ...] = ()
    paid_writes: bool = False
    lifetime_s: Seconds = 0
    lifetime_by_model: dict[str, Seconds] = {}
    long_lifetime_s: Seconds = 0
    max_breakpoints: Size = 4
    implicit: bool = False
    lookback: Size = 20
    readable: Size = 1_000_000

    def minimum(self, model: str) -> int:
        """Tokens below which nothing is cached."""
        return first_fit(model, self.minimum_by_model, self.minimum_tokens)

    @property
    def bills_writes(self) -> bool:
        """Whether what is written costs the price of writing, not that of input."""
        return self.kind == "breakpoints" or self.paid_writes

    def keeps_responses(self, model: str) -> bool:
        """Whether the next request can read the answer too, not only what was sent."""
        return any(fits(model, pattern) for pattern in self.responses)

    def lifetime(self, model: str, long: bool) -> float:
        """Seconds that an entry lives; `long`: the longer of two that a caller can ask for."""
        return (long and self.long_lifetime_s) or first_fit(model, self.lifetime_by_model, self.lifetime_s)


class RateRule(_Rule, frozen=True):
    """What counts as a request's demand on the rate limit."""

    counts_cache_reads: bool = True
    reserves_max_tokens: bool = False
    failed_requests_count: bool = False


class ReasoningRule(_Rule, frozen=True):
    """Which recorded reasoning is sent again: by the first pattern in `by_model` that fits, else `resend`."""

    resend: Resend = "never"
    by_model: dict[str, Resend] = {}

    def of(self, model: str) -> Resend:
        """Return which earlier reasoning is sent again to a model."""
        return first_fit(model, self.by_model, self.resend)


Binding = Literal["none", "drop", "refuse"]
"""What a provider does with thinking whose prefix has changed: nothing, drop it, or refuse the request."""


class ThinkingRule(_Rule, frozen=True):
    """What the provider does with thinking whose prefix has changed since it was written: by the first pattern in
    `by_model` that fits, else nothing. `latest`: whether it refuses a request in which the newest response's thinking
    was changed.
    """

    by_model: dict[str, Binding] = {}
    latest: bool = False

    def of(self, model: str) -> Binding:
        """Return what the provider does with a model's thinking behind a changed prefix."""
        return first_fit(model, self.by_model, "none")


class ServedRule(_Rule, frozen=True):
    """Prices by how requests are served that no list of prices has. `us`: how many times the other prices of tokens
    hold for inference in the United States only.
    """

    us: Annotated[float, msgspec.Meta(gt=0, le=1_000)] = 1.0


class OverflowRule(_Rule, frozen=True):
    """The vendor's error message."""

    message: str = "{tokens} tokens exceed the window of {window}"


class Vendor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of one vendor, the names of the models they hold for, and what genai-prices calls it. `windows`:
    by pattern, the smaller window that models are used with unless the listed one is asked for. `weekdays_since`: the
    first day from which listed hours of the day hold from Monday to Friday only.
    """

    name: str
    models: tuple[str, ...] = ()
    listed_as: str = ""
    windows: dict[str, Positive] = {}
    weekdays_since: date | None = None
    framing: Framing = Framing()
    cache: CacheRule = CacheRule()
    rate: RateRule = RateRule()
    reasoning: ReasoningRule = ReasoningRule()
    thinking: ThinkingRule = ThinkingRule()
    served: ServedRule = ServedRule()
    overflow: OverflowRule = OverflowRule()


def own_folder() -> Path:
    """Return the folder of the user's own vendors: `vendors` in ctxsim's configuration folder."""
    return config_folder() / "vendors"


@cache
def _shipped() -> dict[str, Vendor]:
    files = Path(__file__).with_name("vendors").glob("*.toml")
    return {file.stem: parsed_vendor(file.stem, file.read_bytes()) for file in files}


def vendor_names() -> list[str]:
    """Return the vendors that have a file, the user's own among them."""
    return sorted({*_shipped(), *(file.stem for file in own_folder().glob("*.toml"))})


@cache
def vendor_of(model: str) -> str:
    """Return the vendor whose rules hold for a model, told from its name: the longest pattern that fits decides.

    `none` if no vendor claims it. The name doesn't tell the host of an open model, so the maker's rules are taken.
    """
    claims = [
        (len(pattern), name) for name in vendor_names() for pattern in load_vendor(name).models if fits(model, pattern)
    ]
    return max(claims, default=(0, "none"))[1]


def load_vendor(name: str) -> Vendor:
    """Return a vendor's rules, by name or from a TOML file of the user's.

    Raises UnknownName, with close names, and InputError for an invalid file, naming the field that doesn't fit.
    """
    if vendor := _shipped().get(name):
        return vendor
    if name.endswith(".toml"):
        return parsed_vendor(name, user_file("vendor", name, small_file))
    if name in vendor_names():
        file = own_folder() / f"{name}.toml"
        return parsed_vendor(str(file), small_file(file))
    raise unknown("vendor", name, vendor_names())


@cache
def parsed_vendor(where: str, text: bytes) -> Vendor:
    """Return a vendor's rules from the text of a file. Raises InputError naming the field that doesn't fit."""
    try:
        vendor = msgspec.convert({"name": Path(where).stem, **toml_values(text, where)}, Vendor)
        for differs in vendor.framing.by_model.values():
            msgspec.convert({"name": "", "framing": differs}, Vendor)
    except msgspec.ValidationError as error:
        raise InputError(where, f"is no vendor: {error}") from None
    try:
        vendor.overflow.message.format(tokens="1,000", window="900")
    except (AttributeError, LookupError, ValueError):
        raise InputError(where, "is no vendor: overflow.message takes {tokens} and {window} only") from None
    return vendor
