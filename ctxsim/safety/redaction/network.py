"""Replacement of IP addresses, phone numbers and host names, if the user chooses it."""

import ipaddress
import re
from collections.abc import Callable

_IP = re.compile(r"(?<![\w.:-])(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{1,4})(?![\w:-]|\.\d)")
_PHONE = re.compile(r"(?<![\w.+/-])(?:\+\d[\d ().-]{7,16}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})(?![\w-]|\.\d)")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z][A-Za-z0-9-]*"
_HOST = re.compile(
    rf"(?<=://)(?:[\w.-]+@)?(?P<url>{_NAME})|(?<![\w.-])(?P<own>[\w-]{{2,40}}(?:\.[\w-]{{1,40}}){{0,4}}"
    r"\.(?:local|internal|lan|corp|intranet|home\.arpa))(?![\w-]|\.\w)|(?<=\w)@(?P<prompt>[A-Za-z][\w-]{2,40})(?=:[~/])"
)
_NOBODYS = re.compile(r"^threading\.|(?:^|\.)(?:localhost|example(?:\.\w+)?|test|invalid|w3\.org|github\.com)$", re.I)


def with_network(text: str, stand_in: Callable[[str, str], str]) -> str:
    """Return a text with IP addresses, phone numbers and host names replaced, except reserved and public ones.

    `stand_in` gets the original and its kind, and returns the replacement.
    """
    text = _IP.sub(lambda found: stand_in(found[0], "IP address") if _somebodys(found[0]) else found[0], text)
    text = _PHONE.sub(lambda found: stand_in(found[0], "phone number"), text)
    return _HOST.sub(lambda found: _host(found, stand_in), text)


def _somebodys(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved)


def _host(found: re.Match[str], stand_in: Callable[[str, str], str]) -> str:
    group = found.lastgroup or "url"
    name = found[group]
    if _NOBODYS.search(name):
        return found[0]
    start, end = (place - found.start() for place in found.span(group))
    return found[0][:start] + stand_in(name, "host name") + found[0][end:]
