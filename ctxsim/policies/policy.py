"""The base class of policies: up to four moments at which a policy may edit the view."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, InitVar, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast, dataclass_transform

import msgspec

from ctxsim.counting.estimators import DEFAULT, Estimator, Reported, estimator_label, open_estimator
from ctxsim.errors import LabelError
from ctxsim.plugins import FOLDERS, SETTINGS, labels
from ctxsim.transcript import Head, Item, Sizes, Usage
from ctxsim.view import View

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A parameter of at least 0."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
"""A parameter of at least 1."""

Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
"""A share of the window."""

ShareOrOff = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A share of the window, or 0."""

Family = Literal["agents", "frameworks", "seeds", "papers", ""]
"""Where a policy comes from: coding agents and vendors, frameworks, the five documents, papers."""

SHIPPED: Any = object()
"""Stands for a parameter's default, and is replaced by what the newest version in the agent's `settings.toml` ships."""


OWN_HEAD = Head(system="You summarize a conversation for the assistant that continues it.")
"""Stands for the head of a request for a summary with a system prompt of its own and no tools."""


class Stop(msgspec.Struct, frozen=True):
    """Returned by `before_call`: the agent gives up instead of sending the request."""

    reason: str


class Overflow(msgspec.Struct, frozen=True):
    """The provider's refusal: the request needs more tokens than the window has."""

    message: str
    window: int


def _no_summary(items: Iterable[Item], max_tokens: int) -> str | None:
    return None


def _silence(text: str) -> None:
    return None


@dataclass
class Surroundings:
    """What a policy may see besides the view. Never the true count of the next request, the future, or the clock."""

    window: int
    head: Head = field(default_factory=Head)
    estimator: Estimator = field(default_factory=open_estimator)
    usage: Usage | None = None
    """The provider's own count of the last accepted request and its response."""
    reported: Reported = field(default_factory=Reported)
    """That usage, with the view's estimated size right after it and the output tokens of all responses."""
    now_s: float = 0.0
    """Simulated seconds since the first call."""
    summarize: Callable[[Iterable[Item], int], str | None] = _no_summary
    """Callback: items and a limit in tokens. Returns the text of a billed summary; None if its request is refused."""
    say: Callable[[str], None] = _silence
    """Callback that shows the user a line in the terminal."""
    remembered: InitVar[Sizes | None] = None
    """Memo of items' estimates by the same estimator; None: a new memo."""

    def __post_init__(self, remembered: Sizes | None) -> None:
        self.sizes = remembered or Sizes(self.estimator.item)
        """The memo of items' estimates."""

    def close(self) -> None:
        """Disable `summarize` and `say`. Called after the last call."""
        self.summarize = _no_summary
        self.say = _silence

    def size_of(self, items: Sequence[Item]) -> int:
        """Return the estimated tokens of some items together. Each item is estimated once for all policies."""
        return self.sizes.of(items)

    def estimate(self, view: View) -> int:
        """Return the estimated tokens of the request with this view. Cheap, because the view keeps a running total."""
        return self.estimator.request(self.head, view.size, view, self.reported)


@dataclass_transform()
@dataclass
class Policy:
    """Decides what is sent: edits the view, which is the list of items that the next request would hold.

    The methods `on_tool_result`, `before_call`, `after_call` and `on_overflow` may edit the view. By default, none of
    them does. Decorate subclasses with `@dataclass`, unless they are ctxsim's own; only their fields configure them.
    Each transcript gets a new object. State that a policy keeps during a transcript is created in `start`, in
    attributes that aren't fields. If a class sets no `name`, its name is the class name in kebab case.
    """

    name: ClassVar[str] = ""
    decides_by: ClassVar[str] = ""
    """Label of the estimator that the source uses: the default if neither label nor command line names one."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Today's names of parameters, by their names in older labels."""
    bound: ClassVar[bool] = False
    """True: marks a floor or a ceiling rather than something to use."""
    others_code: ClassVar[bool] = False
    """True: its methods run code from outside the package, though the class belongs to the package."""
    family: ClassVar[Family] = ""
    """The preset that includes it, as in `--policy agents`. Set automatically for classes in a family's folder."""
    source: ClassVar[str] = ""
    """Where the rule comes from: a repository, a vendor's interface, a document or a paper."""
    version: ClassVar[str] = ""
    """The release or the commit in which the rule was read or observed; unless stated, that of its `settings.toml`."""
    read_on: ClassVar[str] = ""
    """The date of what was read, as 2026-08-22; unless stated, that of its `settings.toml`."""
    agent: ClassVar[str] = ""
    """The agent whose `settings.toml` holds the parameters by version. Set automatically for a policy in the folder of
    that file.
    """
    ships: ClassVar[bool] = False
    """True: that file has parameters of this policy, so a label may give `version=` and `model=`. Set automatically."""
    server_side: ClassVar[bool] = False
    """True: the provider edits. The client's requests only grow, so that thinking stays bound to what was sent."""
    per_request: ClassVar[bool] = False
    """True: what `before_call` returns holds for this request only; the next call starts from the unedited view."""
    abstract: ClassVar[bool] = True
    """True: a base class that no label can name."""

    def __init_subclass__(cls, abstract: bool = False, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.abstract = abstract
        if "name" not in cls.__dict__:
            cls.name = labels.kebab(cls.__name__)
        for package in FOLDERS:
            if cls.__module__.startswith(f"{package}."):
                cls.family = cast(Family, package.rpartition(".")[2])
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if cls.agent or (file and Path(file).with_name(SETTINGS).exists()):
            _take_shipped(cls)
        if cls.__module__.startswith("ctxsim.") and not abstract:
            dataclass(cls)

    @property
    def sees(self) -> Surroundings:
        """The surroundings that replay attached: what this policy may see besides the view."""
        return self._sees

    def attach(self, sees: Surroundings) -> None:
        """Called once by replay, before `start`."""
        self._sees = sees

    def start(self) -> None:
        """Called once per transcript, before the first moment. Creates state that isn't a parameter."""

    def end(self) -> None:
        """Called once after the last call, if there is a call. Releases what `start` acquired."""

    @property
    def ephemeral(self) -> bool:
        """Whether this policy's edits are `per_request`. In a chain such policies act after all others, as a server
        acts after its client.
        """
        return self.per_request

    @property
    def label(self) -> str:
        """Name and parameters, as tables show them and the command line accepts them."""
        return labels.of(self.name, self)

    @property
    def retries(self) -> int | None:
        """How often a refused request may be replaced by what `on_overflow` returns; None: the replay decides."""
        return None

    @property
    def summary_head(self) -> Head | None:
        """The head of its requests for summaries: one of their own, so that they read nothing of the conversation from
        the cache; or None, the conversation's, so that they do.
        """
        return OWN_HEAD

    def threshold(self) -> float | None:
        """The estimate, in tokens, above which `before_call` acts; None if it doesn't decide by an estimate."""
        return None

    def fires_at(self) -> float | None:
        """Tokens, estimated or by usage, at which it compacts by itself; None if it compacts only after a refusal."""
        return self.threshold()

    def limits(self) -> Mapping[str, float]:
        """Return the limits, in tokens, that the parameters set for requests, by name. Charts show them as lines."""
        return {}

    def on_tool_result(self, item: Item) -> Item:
        """Return a new tool result as it should enter the view."""
        return item

    def before_call(self, view: View) -> View | Stop:
        """Return the view to send, or `Stop`."""
        return view

    def after_call(self, view: View, usage: Usage) -> View:
        """Return the view after an accepted call. The view holds the call's response, but not yet its results."""
        return view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        """Return a smaller view to send after a request overflowed the window, or None to give up."""
        return None


def _take_shipped(cls: type[Policy]) -> None:
    """Set `agent` by the class's folder, and what its `settings.toml` states: version, day, and values for SHIPPED.

    Raises LabelError for a value that it doesn't state.
    """
    from ctxsim.policies.agents.settings_file import agent_in, settings_of, values_for

    cls.agent = agent_in(cls.__module__) or cls.agent
    # A `settings.toml` beside a user's own policy isn't an agent's.
    if not cls.agent:
        return
    stated, shipped = settings_of(cls.agent), values_for(cls.agent, policy=cls.name)
    if not cls.abstract and agent_in(cls.__module__):
        cls.version, cls.read_on = cls.version or stated.version, cls.read_on or stated.read_on
    cls.ships = bool(shipped)

    def value_of(name: str) -> Any:
        if name not in shipped:
            raise LabelError(f"{cls.agent}/{SETTINGS} has no number for the parameter {name} of a policy {cls.name}")
        return shipped[name]

    for name, default in list(vars(cls).items()):
        if default is SHIPPED:
            setattr(cls, name, value_of(name))
        elif isinstance(default, Field) and default.default is SHIPPED:
            default.default = value_of(default.metadata.get("label", name))


def with_estimator(label: str, estimator: Estimator, always: bool = False) -> str:
    """Return a policy label with its estimator, if that isn't the default one, or `always`."""
    shown = estimator_label(estimator)
    if not always and shown == estimator_label(open_estimator(DEFAULT)):
        return label
    link = labels.chain(label)[-1]
    behind = link.startswith("pipe:") or labels.named(link)[1]
    return f"{label}{',' if behind else ':'}estimator={shown}"
