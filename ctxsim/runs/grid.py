"""A grid of a policy's parameters, as labels: `token-budget:retain=100..4000@8,budget=20000..80000@4`."""

import math
import re
from itertools import pairwise, product

from ctxsim.errors import LabelError
from ctxsim.plugins import labels
from ctxsim.policies import open_policy

MOST = 2_000
"""Settings of one sweep; more is a mistake."""

_RANGE = re.compile(r"(?P<low>-?[\d.]+)\.\.(?P<high>-?[\d.]+)@(?P<steps>\d+)")


def expand(label: str) -> list[str]:
    """Return the labels of a grid, each parameter's values in order, the last one changing fastest.

    `low..high@n` is n evenly spaced values, whole if both ends are; `a|b|c` is these values; `+` chains stay chains.
    Labels are opened, so that they have their full form. Raises LabelError for an invalid range or too many settings.
    """
    plain = labels.unquoted(label) if "pipe:" in label else label
    cuts = [0, *(cut for found in re.finditer("[:,+]", plain) for cut in found.span()), len(label)]
    choices = [_values(label, label[start:end], plain[start:end]) for start, end in pairwise(cuts)]
    count = math.prod(map(len, choices))
    if count > MOST:
        raise LabelError(f"'{label}' has {count:,} settings; at most {MOST:,} are run at once")
    return list(dict.fromkeys(open_policy("".join(pieces)).label for pieces in product(*choices)))


def _values(label: str, part: str, plain: str) -> list[str]:
    """Return the choices of one part of a label; `plain` is the part with the quoted text of a command blanked."""
    key, equals, value = part.partition("=")
    shown = plain[len(key) + 1 :]
    if not equals or (".." not in shown and "|" not in shown):
        return [part]
    if "|" in value:
        return [f"{key}={one}" for one in value.split("|")]
    found = _RANGE.fullmatch(value)
    try:
        if found is None:
            raise ValueError
        low, high, steps = float(found["low"]), float(found["high"]), int(found["steps"])
        whole = low.is_integer() and high.is_integer() and "." not in found["low"] + found["high"]
    except ValueError:
        raise LabelError(f"'{label}': '{value}' is not low..high@steps, as in retain=100..4000@8") from None
    if steps < 1 or not low <= high < math.inf:
        raise LabelError(f"'{label}': '{value}' needs low..high upwards and at least one step")
    if steps > MOST:
        raise LabelError(f"'{label}' has {steps:,} settings or more; at most {MOST:,} are run at once")
    spaced = [low + (high - low) * n / max(1, steps - 1) for n in range(steps)]
    return list(dict.fromkeys(f"{key}={round(one) if whole else f'{one:.6g}'}" for one in spaced))
