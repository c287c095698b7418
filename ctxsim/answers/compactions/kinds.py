"""What kind of thing an atom is: what compactions lose differs by it."""

from __future__ import annotations

import re

from ctxsim.simulator.references import identifiers
from ctxsim.simulator.references.needs import Detector

KINDS = ("path", "address", "number", "id", "name", "quotation")

_NUMBER = re.compile(r"[\d./+-]+")


def kind_of_atom(detector: Detector, atom: str) -> str:
    """Return one of `KINDS`: a path, a URL or e-mail address, a number or date, a mix of letters and digits, a name
    from code; or a quotation of five words.
    """
    if detector == "loose":
        return "quotation"
    if not identifiers.is_value(atom):
        return "name"
    if "://" in atom or "@" in atom:
        return "address"
    if _NUMBER.fullmatch(atom):
        return "number"
    return "path" if "/" in atom else "id"
