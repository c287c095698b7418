"""The base class of estimators, which guess tokens from text cheaply; policies decide by them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

import msgspec

from ctxsim.errors import ContractError, CtxsimError, TooLong, told
from ctxsim.plugins import labels
from ctxsim.plugins.limit import limited
from ctxsim.transcript import Head, Item, Usage

Rounding = Literal["ceil", "floor", "round"]
Unit = Literal["points", "utf16", "bytes"]

PerToken = Annotated[float, msgspec.Meta(gt=0)]
"""Characters or bytes per token."""

Factor = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""What a count is multiplied by."""


class Reported(msgspec.Struct, frozen=True):
    """What the provider has reported so far: the usage of the last accepted call, the view's size by this estimator
    right after that call, and the output tokens of each response by message number.
    """

    usage: Usage | None = None
    size: int = 0
    outputs: dict[int, int] = msgspec.field(default_factory=dict)


ANSWERING = ("text", "item", "message", "together", "messages", "head", "request")
"""The methods that return tokens."""


WHOLE = "a whole number of at least 0"
MOST = 10**12
"""The most tokens of one answer: sums of millions of them fit into a column."""


def answered(who: str, ask: Callable[[], int]) -> int:
    """Return `ask()`, a whole number from 0 to MOST. Other results, foreign errors and what takes too long raise
    ContractError with `who`.
    """
    try:
        with limited():
            answer = ask()
    except CtxsimError:
        raise
    except TooLong as error:
        raise ContractError(f"{who} {error}") from None
    # A user's estimator may raise anything; the error becomes one line.
    except (Exception, SystemExit) as error:
        raise ContractError(f"{who} raised {told(error)}; it must return {WHOLE}") from error
    if type(answer) is not int or answer < 0:
        raise ContractError(f"{who} returned {answer!r}; it must return {WHOLE}")
    if answer > MOST:
        raise ContractError(f"{who} returned too many; it must return a whole number of at most {MOST:,}")
    return answer


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Estimator:
    """Estimates the tokens of items; a request's estimate is their sum. Only typed parameters configure it.

    `ctxsim check estimator` checks this contract. Every estimate is a whole number of at least 0, and depends only on
    the arguments, not on earlier estimates. No argument is changed. If two requests differ only in `size`, the larger
    one doesn't get the lower estimate.

    Decorate a subclass with `@dataclass(frozen=True)`, unless it is ctxsim's own. If it sets no `name`, its name is
    the class name in kebab case.
    """

    name: ClassVar[str] = ""
    judged_at: ClassVar[tuple[str, ...]] = ("",)
    """Settings at which `validate --estimates` judges the family, as `key=value,...`; '' means all defaults."""
    counts_head: ClassVar[bool] = True
    """False: the head counts 0, as in sources that count messages only."""
    goes_on: ClassVar[bool] = False
    """True: a request is the tokens of the last accepted call, plus the estimate of what joined (or left) since."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = labels.kebab(cls.__name__)
        if "judged_at" not in cls.__dict__:
            cls.judged_at = ("",)
        if cls.__module__.startswith("ctxsim."):
            dataclass(frozen=True)(cls)
        else:
            for method in set(ANSWERING) & vars(cls).keys():
                setattr(cls, method, _held(method, vars(cls)[method]))

    def text(self, text: str) -> int:
        """Return the estimated tokens of one text."""
        raise ContractError(f"estimator {self.name} has no method `text`; it must return {WHOLE}")

    def item(self, item: Item) -> int:
        """Return the estimated tokens of one item. Non-text content counts as the vendor's rule says."""
        total = sum(map(self.text, item.texts))
        return total + sum(media.tokens for media in item.media) if item.media else total

    def messages(self, messages: Iterable[Sequence[Item]], system: str = "") -> int:
        """Return the estimated tokens of whole messages and the system prompt, if given: the sum over their items.

        It is made of `message` and `together`. A family overrides these if its source adds framing, or rounds, for each
        message or for all messages together.
        """
        return self.together(sum(map(self.message, messages)), system)

    def message(self, items: Sequence[Item]) -> int:
        """Return the size of one message, in the unit that `together` converts to tokens. Policies cache it, so it must
        depend on `items` alone.
        """
        return sum(map(self.item, items))

    def together(self, size: int, system: str = "") -> int:
        """Return the estimated tokens of messages whose sizes sum to `size`, plus those of a system prompt, if any."""
        return size + self.text(system) if system else size

    def head(self, head: Head) -> int:
        """Return the estimated tokens of the system prompt and the tool schemas, plus the size of the hidden head."""
        return sum(self.text(text) for text in head.texts) + head.hidden if self.counts_head else 0

    def request(self, head: Head, size: int, items: Iterable[Item], reported: Reported) -> int:
        """Return the estimated tokens of a whole request whose items sum to `size`."""
        if self.goes_on and reported.usage is not None:
            return max(0, reported.usage.total_tokens + size - reported.size)
        return _head(self, head) + size

    @property
    def by_usage(self) -> bool:
        """Whether the estimate of a request depends on the usage that the provider has reported."""
        reported = Reported(Usage(1_000, output_tokens=10), 100)
        return self.request(Head(), 100, (), Reported()) != self.request(Head(), 100, (), reported)


def _held(name: str, method: Callable[..., int]) -> Callable[..., int]:
    """Return a method of a user's estimator with its result checked by `answered`."""

    @wraps(method)
    def asked(self: Estimator, *arguments: Any, **named: Any) -> int:
        of = f" of {arguments[0][:20]!r}" if arguments and isinstance(arguments[0], str) else ""
        return answered(f"estimator {self.name}: `{name}`{of}", lambda: method(self, *arguments, **named))

    return asked


@lru_cache(maxsize=8)
def _head(estimator: Estimator, head: Head) -> int:
    """Return the head's estimate, cached because each call needs it and the head seldom changes."""
    return estimator.head(head)


def length(text: str, unit: Unit) -> int:
    """Return a text's length in code points (Python), UTF-16 units (JavaScript, C#, Java) or UTF-8 bytes (Rust, Go)."""
    if unit == "points" or text.isascii():
        return len(text)
    if unit == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def divided(size: int, ratio: float, rounding: Rounding) -> int:
    """Return size / ratio, rounded by `rounding`."""
    if rounding == "ceil":
        return -int(-size // ratio)
    return int(size // ratio) if rounding == "floor" else int(size / ratio + 0.5)
