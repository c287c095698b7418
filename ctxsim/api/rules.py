"""Rules that a comparison can break, as `cost_usd > +2%`: the gates of `compare --fail-if`."""

import re
from collections.abc import Iterable

import msgspec

from ctxsim.errors import CtxsimError, unknown

_RULE = re.compile(r"\s*(?P<figure>\w+)\s*(?P<sign>[<>])\s*(?P<value>[+-]?\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*")


class Rule(msgspec.Struct, frozen=True):
    """When to fail: a figure's difference, absolute or in per cent, above or below a value."""

    figure: str
    above: bool
    value: float
    percent: bool

    def broken_by(self, figure: str, difference: float, whole: float = 100.0) -> bool:
        """Whether a figure's difference goes beyond it. `whole` is what 100 % is: any difference is over 1 % of 0."""
        limit = self.value * whole / 100 if self.percent else self.value
        return figure == self.figure and (difference > limit if self.above else difference < limit)


def parse_rules(texts: Iterable[str], kind: str, known: Iterable[str], examples: str) -> list[Rule]:
    """Return the rules that texts state of `known` figures, which errors call a `kind`.

    Raises CtxsimError with `examples` for what is no rule, and UnknownName for another figure.
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
