"""Rules that a comparison can break, such as `cost_usd > +2%`: the conditions of `compare --fail-if`."""

import re
from collections.abc import Iterable

import msgspec

from ctxsim.errors import CtxsimError, unknown

_RULE = re.compile(r"\s*(?P<figure>\w+)\s*(?P<sign>[<>])\s*(?P<value>[+-]?\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*")


class Rule(msgspec.Struct, frozen=True):
    """A limit, upper or lower, on a figure's difference, absolute or in per cent."""

    figure: str
    above: bool
    value: float
    percent: bool

    def broken_by(self, figure: str, difference: float, whole: float = 100.0) -> bool:
        """Return whether a figure's difference breaks the rule. `whole` is 100 %: if it is 0, a limit in % is 0 too."""
        limit = self.value * whole / 100 if self.percent else self.value
        return figure == self.figure and (difference > limit if self.above else difference < limit)


def parse_rules(texts: Iterable[str], kind: str, known: Iterable[str], examples: str) -> list[Rule]:
    """Parse rules about the `known` figures. Errors call a figure a `kind`.

    Raises CtxsimError, with `examples`, for a text that isn't a rule, and UnknownName for an unknown figure.
    """
    rules = []
    for text in texts:
        found = _RULE.fullmatch(text)
        if found is None:
            raise CtxsimError(f"'{text}' is no rule. Rules: {examples}")
        if found["figure"] not in known:
            raise unknown(kind, found["figure"], known)
        rules.append(Rule(found["figure"], found["sign"] == ">", float(found["value"]), bool(found["percent"])))
    return rules
