"""The types of `settings.toml`: an agent's settings and fixed numbers about context, by version and model.

The folder of each agent and framework has such a file. Policies take their defaults from it.
"""

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from ctxsim.plugins.files import at_home
from ctxsim.policies.agents.versions import holds

UNSET = "unset"
"""The default of a setting that has no value until the user sets it."""

CODE = "code"
"""Stands for the file of a setting that is a constructor's argument."""

Value = bool | int | float | str


def shown(value: Value) -> str:
    """Return a value as a user writes it in a variable: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else str(value)


Judged = Literal[
    "honoured", "capped", "clamped", "ignored", "only after a refusal", "never", "unclear", "not yet seen"
]  # fmt: skip
"""What the installed agent was seen to do with a value that was set."""

TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "ratio": (int, float), "bool": (bool,), "text": (str,), "choice": (str,),
}  # fmt: skip


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value for some versions and models. `models` are patterns separated by commas; '' in either means all.

    `as_parameter` is the value of ctxsim's parameter, if it differs from upstream's.
    """

    value: Value
    versions: str = ""
    models: str = ""
    as_parameter: Value | None = None

    def fits(self, version: str, model: str) -> bool:
        """Return whether the rule holds for this version and model. Raises ValueError for an invalid version."""
        patterns = self.models.lower().replace("[", "[[]").split(",")
        return holds(self.versions, version) and (
            not self.models or any(fnmatchcase(model.lower(), pattern.strip()) for pattern in patterns)
        )


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What installed versions did with a setting, and the day of the test. `alone`: only if no other setting decides;
    the policy knows when.
    """

    verdict: Judged
    seen_on: str = ""
    versions: str = ""
    models: str = ""
    note: str = ""
    alone: bool = False


class ConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file with settings. A project's file has precedence over the user's.

    `env` is the table in which it sets variables, which go before those of the shell. In `settings.toml`, `format` may
    be left out if it is the path's suffix, and `scope` if the path's start tells it.
    """

    path: str
    format: Literal["json", "jsonc", "toml", "yaml"]
    scope: Literal["user", "project"]
    env: str = ""

    def place(self, project: str | os.PathLike[str] | None = None) -> Path:
        """Return the path of the file; a project's file is in the folder `project`."""
        if self.scope == "project":
            return Path(project or "", self.path)
        return at_home(self.path)

    def shown(self, project: str | os.PathLike[str] | None = None) -> str:
        """Return the same place for a reader: the path as it stands above where that is the place."""
        place = self.place(project)
        return self.path if place == Path(self.path).expanduser() else str(place)


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A threshold, a reserve or a cut that the agent ships. The first rule that fits a version and a model holds.

    `parameter` is ctxsim's parameter, '' if none models it; `policy` is the policy that has it, '' for the agent's own.
    """

    key: str
    source: str
    default: tuple[Rule, ...] = ()
    unit: str = ""
    parameter: str = ""
    policy: str = ""
    note: str = ""

    def rule(self, version: str = "", model: str = "") -> Rule | None:
        """Return the first rule that fits a version and a model; None if there is none."""
        return next((rule for rule in self.default if rule.fits(version, model)), None)

    def given(self, version: str = "", model: str = "") -> Value | None:
        """Return the value of the policy's parameter; None if it keeps its own default."""
        rule = self.rule(version, model)
        if rule is None:
            return None
        return rule.as_parameter if rule.as_parameter is not None else rule.value if self.plain(rule.value) else None

    def plain(self, value: Value) -> bool:
        """Return whether a value is an actual value, rather than a word such as `unset`."""
        return value != UNSET


class Setting(Number, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A number, a switch or a text that a user of the agent can set, under upstream's own dotted `key`.

    `file` is the end of the path of its file. `env` is its environment variable, which may be the `key` too. Without
    either, it is in the first of the agent's files, or in code if the agent has none. An int is in tokens unless `unit`
    says otherwise. `words` may replace a value. `outside` is what the agent does with a value outside `bounds`; `cap`
    is the most that it uses. Of several settings of one parameter, that of the greatest `precedence` holds. `search`
    are the first values that `advise` tries, `written` is a value's form in code. `needs` are keys that must be set
    too. `opposite`: a switch whose true is the parameter's false. `in_list`: it is in an entry of this list in the
    file. `thousands`: 300k is 300,000. `stops`: with this value of a switch, the agent doesn't compact.
    """

    type: Literal["int", "ratio", "bool", "text", "choice"] = "int"
    file: str = ""
    env: str = ""
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    outside: Literal["refused", "clamped", "ignored", "breaks", ""] = ""
    cap: str = ""
    precedence: int = 0
    search: tuple[Value, ...] = ()
    written: str = "{}"
    needs: tuple[str, ...] = ()
    opposite: bool = False
    stops: bool | None = None
    in_list: str = ""
    thousands: bool = False
    honoured: tuple[Verdict, ...] = ()

    def plain(self, value: Value) -> bool:
        return value != UNSET and value not in self.words

    def verdict(self, version: str = "", model: str = "") -> Verdict:
        """Return the verdict for a version and a model; without a version, the first one for the model. "not yet seen"
        if there is none.
        """
        for one in self.honoured:
            if Rule(0, one.versions if version else "", one.models).fits(version, model):
                return one
        return Verdict("not yet seen")

    def typed(self, text: str) -> Value:
        """Return a text of a label or a variable as a value of the type; unchanged if it can't be converted."""
        if self.type != "text" and len(text) > 1 and text[0] == text[-1] == '"':
            return text[1:-1]
        if self.type == "bool":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        number = f"{text[:-1]}000" if self.thousands and text[-1:] in ("k", "K") else text
        try:
            return int(number) if self.type == "int" else float(text) if self.type == "ratio" else text
        except ValueError:
            return text

    def taken(self, value: Value) -> Value | None:
        """Return the value that the agent uses: the given one, its cap, the nearest bound, or None if it takes none."""
        if not self.problem(value):
            return min(value, int(self.cap)) if self.cap.isdigit() and not isinstance(value, str) else value
        if self.outside != "clamped" or not self.bounds or not isinstance(value, int | float):
            return None
        nearest = min(max(value, self.bounds[0]), self.bounds[1])
        return int(nearest) if self.type == "int" else nearest

    def problem(self, value: Value) -> str:
        """Return what is wrong with a value: its type, its bounds, or that it is no choice; '' if nothing is."""
        if not self.plain(value):
            return ""
        if not isinstance(value, TYPES[self.type]) or (isinstance(value, bool) and self.type != "bool"):
            return f"{value!r} is no {self.type}"
        if self.bounds and not isinstance(value, str) and not self.bounds[0] <= value <= self.bounds[1]:
            return f"{value!r} is outside {self.bounds[0]:g} to {self.bounds[1]:g}"
        if self.type == "choice" and value not in self.choices:
            return f"{value!r} is none of {', '.join(self.choices)}"
        return ""


class AgentSettings(msgspec.Struct, frozen=True):
    """The settings file of one agent or framework. `version` is the version that was read on the day `read_on`."""

    agent: str
    version: str
    read_on: str
    files: tuple[ConfigFile, ...]
    settings: tuple[Setting, ...]
    numbers: tuple[Number, ...]

    @property
    def entries(self) -> tuple[Number, ...]:
        """Settings, then numbers that can't be set."""
        return (*self.settings, *self.numbers)
