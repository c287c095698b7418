"""Replacement of account names, in home folders and wherever else they stand as words, and of e-mail addresses; if the
user chooses it, also of IP addresses, phone numbers and host names.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ctxsim.safety.redaction.patterns import TABLE, compiled, part

_HOME, _ANY_HOME, _INSIDE, _MAIL, _UNIT, _IP, _PHONE, _HOST, _NOBODYS = map(compiled, TABLE["people"].values())

LEAST = 3
"""Shortest account name that is replaced as a word; shorter ones are words of any text."""


def told_names(text: str) -> Iterator[str]:
    """Yield the account names of home folders in a text that are to be replaced as words too.

    Only with something inside the folder (`/home/about` may be a page), LEAST or more letters, and not of an image or a
    manual.
    """
    for found in _HOME.finditer(text) if _ANY_HOME.search(text) else ():
        name = unescaped(found[found.lastgroup or 0])
        inside = found.lastgroup != "hyphens" and _INSIDE.match(text, found.end())
        if inside and len(name) >= LEAST and name.lower() not in TABLE["words"]["accounts"]:
            yield name


def with_homes(text: str, stand_in: Callable[[str], str], hyphened: Mapping[str, str] = {}) -> str:
    """Return a text with the account names of home folders replaced. `hyphened` is as `in_hyphens` returns it."""
    if not _ANY_HOME.search(text):
        return text
    names = "|".join(map(re.escape, sorted(hyphened, key=len, reverse=True)))
    # In `-home-ann-lee-project` only a name that is known tells where it ends.
    pieces = re.split(rf"(?:(?<=-home-)|(?<=-Users-))({names})(?![^\W_])", text) if names else [text]
    pieces[::2] = [
        _HOME.sub(lambda found: _replaced(found, found.lastgroup or 0, stand_in), piece) for piece in pieces[::2]
    ]
    pieces[1::2] = [re.sub(r"[\W_]", "-", stand_in(hyphened[piece])) for piece in pieces[1::2]]
    return "".join(pieces)


def in_hyphens(names: Iterable[str]) -> dict[str, str]:
    """Return names of several parts as agents write them in the names of their folders, each with the name itself."""
    return {made: name for name in sorted(names) if "-" in (made := re.sub(r"[\W_]", "-", name))}


def with_mails(text: str, stand_in: Callable[[str], str]) -> str:
    """Return a text with its e-mail addresses replaced, except those of `git@`, which identify no person."""
    if "@" not in text and "%40" not in text:
        return text
    return _MAIL.sub(lambda found: stand_in(found[0]), text)


def with_words(text: str, words: re.Pattern[str] | None, stand_in: Callable[[str], str]) -> str:
    """Return a text with these words replaced."""
    return words.sub(lambda found: _replaced(found, 0, stand_in), text) if words else text


def words_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern for these names as whole words, also as JSON escapes them; None without names."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    spelled = "|".join("".join(map(_spelled, name)) for name in longest_first)
    return re.compile(rf"(?:(?<![^\W_])|{part('AFTER_ESCAPE')})(?:{spelled})(?![^\W_])") if spelled else None


def _spelled(character: str) -> str:
    if character.isascii():
        return re.escape(character)
    return rf"(?:{character}|\\u(?i:{ord(character):04x}))"


def unescaped(name: str) -> str:
    """Return a name without JSON's escapes."""
    return re.sub(part("ESCAPED"), lambda found: chr(int(found[0][2:], 16)), name)


def _replaced(found: re.Match[str], group: str | int, stand_in: Callable[[str], str]) -> str:
    """Return a match with one group replaced; characters that JSON had escaped are escaped again."""
    begin, (start, end), whole = found.start(), found.span(group), found[0]
    units = zip(_UNIT.findall(found[group]), stand_in(unescaped(found[group])), strict=True)
    made = "".join(f"\\u{ord(new):04x}" if len(old) > 1 else new for old, new in units)
    return whole[: start - begin] + made + whole[end - begin :]


def with_network(text: str, stand_in: Callable[[str, str], str]) -> str:
    """Return a text with IP addresses, phone numbers and host names replaced, except reserved and public ones.

    `stand_in` gets the original and its kind, and returns the replacement.
    """

    def without_host(found: re.Match[str]) -> str:
        host = _host(found)
        return found[0].removesuffix(host) + stand_in(host, "host name") if host else found[0]

    text = _IP.sub(lambda found: stand_in(found[0], "IP address") if _somebodys(found[0]) else found[0], text)
    text = _PHONE.sub(lambda found: stand_in(found[0], "phone number"), text)
    return _HOST.sub(without_host, text)


def told_hosts(text: str) -> Iterator[str]:
    """Yield the host names that `with_network` replaces in a text; elsewhere they stand alone, as in `ping HOST`."""
    return filter(None, map(_host, _HOST.finditer(text)))


def _somebodys(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved)


def _host(found: re.Match[str]) -> str:
    """Return the host name with which a match ends; '' if it is nobody's."""
    name = found[found.lastgroup or 0]
    return "" if _NOBODYS.search(name) else name
