"""Replacement of account names, in home folders and wherever else they stand as words, and of e-mail addresses; if the
user chooses it, also of IP addresses, phone numbers and host names.

Folders: `/home/NAME` (Filesystem Hierarchy Standard 3.0, 3.8), `/Users/NAME`, `C:\\Users\\NAME`; also as JSON and URLs
escape them, and with hyphens for slashes, as agents name their folders: `-home-NAME-project`.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator

_SLASH = r"(?:\\*/|%2[Ff])"
_BACKSLASH = r"(?:\\+|%5[Cc])"
_ESCAPED = r"\\u[0-9a-fA-F]{4}"
_NAME = rf"(?:\w|{_ESCAPED})(?:[\w-]|{_ESCAPED}|\.(?=\w))*"
_PART = rf"(?:[\w.'-]|{_ESCAPED})"
_LONG_NAME = rf"{_PART}+(?: {_PART}+){{1,3}}(?=(?P=slash)\w)"
_COLORED = "|".join(rf"(?<=[\[;]{digits}m)" for digits in ("", r"\d", r"\d\d", r"\d\d\d"))
_AFTER_ESCAPE = rf"(?:(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{{4}})|{_COLORED})"
"""Where a word begins although a letter precedes it: after a JSON escape, or a terminal's color such as `ESC[32m`."""

_HOME = re.compile(
    "|".join(
        (
            # After a letter or a dot it is part of another path, such as a web page's; mounted disks are exceptions.
            rf"(?:(?<![\w.~%/\\-])|{_AFTER_ESCAPE}|(?<=file://)|(?<=/mnt/[a-z])|(?<=/host)|(?<=/var)|(?<=/export)"
            rf"|(?<=/Volumes/Data)|(?<=[\s\"'=]-[A-Za-z]))"
            rf"{_SLASH}(?:home|Users){_SLASH}(?P<unix>{_NAME})",
            rf"(?:(?<!\w)|{_AFTER_ESCAPE})[A-Za-z](?::|%3[Aa])(?P<slash>{_BACKSLASH})(?i:users)(?P=slash)"
            rf"(?P<windows>{_LONG_NAME}|{_NAME})",
            rf"(?:(?<=Ubuntu)|(?<=Debian))(?:{_SLASH}|{_BACKSLASH})home(?:{_SLASH}|{_BACKSLASH})(?P<wsl>{_NAME})",
            rf"(?:(?<!\w)|{_AFTER_ESCAPE})/?[A-Za-z](?::|%3[Aa])?{_SLASH}(?i:users){_SLASH}(?P<mixed>{_NAME})",
            rf"(?:(?<![\w.-])|{_AFTER_ESCAPE})(?:[A-Za-z]--Users|-(?:home|Users))-(?P<hyphens>[^\W_]+)",
        )
    )
)
_ANY_HOME = re.compile("home|users", re.IGNORECASE)
_INSIDE = re.compile(rf"(?:{_SLASH}|{_BACKSLASH})[\w.]")

_MAIL = re.compile(
    rf"(?:(?<![\w.+%\\-])|{_AFTER_ESCAPE}|(?<=\\)(?![nrtu])|(?<=%[0-9A-Fa-f]{{2}}))"
    r"(?!git@)[\w+-][\w.+-]*+(?:@|%40)(?:[A-Za-z0-9][A-Za-z0-9-]*+\.)+[A-Za-z]{2,}"
)

ACCOUNTS = frozenset(
    ("admin", "agent", "app", "circleci", "claude", "codespace", "coder", "codex", "debian", "default", "dev", "docker",
     "example", "fedora", "git", "guest", "home", "jenkins", "jovyan", "linuxbrew", "name", "node", "openhands",
     "postgres", "project", "public", "root", "runner", "sandbox", "shared", "test", "tests", "ubuntu", "user",
     "username", "users", "vagrant", "vscode", "work", "workspace")
)  # fmt: skip
"""Accounts of images, services and manuals, which belong to no person. Their names aren't replaced as words."""

LEAST = 3
"""Shortest account name that is replaced as a word; shorter ones are words of any text."""


def told_names(text: str) -> Iterator[str]:
    """Yield the account names of home folders in a text that are to be replaced as words too.

    Only with something inside the folder (`/home/about` may be a page), LEAST or more letters, and not in `ACCOUNTS`.
    """
    for found in _HOME.finditer(text) if _ANY_HOME.search(text) else ():
        name = unescaped(found[found.lastgroup or 0])
        inside = found.lastgroup != "hyphens" and _INSIDE.match(text, found.end())
        if inside and len(name) >= LEAST and name.lower() not in ACCOUNTS:
            yield name


def with_homes(text: str, stand_in: Callable[[str], str]) -> str:
    """Return a text with the account names of home folders replaced."""
    if not _ANY_HOME.search(text):
        return text
    return _HOME.sub(lambda found: _replaced(found, found.lastgroup or 0, stand_in), text)


def with_mails(text: str, stand_in: Callable[[str], str]) -> str:
    """Return a text with its e-mail addresses replaced, except those of `git@`, which identify no person."""
    if "@" not in text and "%40" not in text:
        return text
    return _MAIL.sub(lambda found: stand_in(found[0]), text)


def with_words(text: str, words: re.Pattern[str], stand_in: Callable[[str], str]) -> str:
    """Return a text with these words replaced."""
    return words.sub(lambda found: _replaced(found, 0, stand_in), text)


def words_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern for these names as whole words, also as JSON escapes them; None without names."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    spelled = "|".join("".join(map(_spelled, name)) for name in longest_first)
    return re.compile(rf"(?:(?<![^\W_])|{_AFTER_ESCAPE})(?:{spelled})(?![^\W_])") if spelled else None


def _spelled(character: str) -> str:
    if character.isascii():
        return re.escape(character)
    return rf"(?:{character}|\\u(?i:{ord(character):04x}))"


_UNIT = re.compile(rf"{_ESCAPED}|.", re.DOTALL)


def unescaped(name: str) -> str:
    """Return a name without JSON's escapes."""
    return re.sub(_ESCAPED, lambda found: chr(int(found[0][2:], 16)), name)


def _replaced(found: re.Match[str], group: str | int, stand_in: Callable[[str], str]) -> str:
    """Return a match with one group replaced; characters that JSON had escaped are escaped again."""
    begin, (start, end), whole = found.start(), found.span(group), found[0]
    units = zip(_UNIT.findall(found[group]), stand_in(unescaped(found[group])), strict=True)
    made = "".join(f"\\u{ord(new):04x}" if len(old) > 1 else new for old, new in units)
    return whole[: start - begin] + made + whole[end - begin :]


_IP = re.compile(r"(?<![\w.:-])(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{1,4})(?![\w:-]|\.\d)")
_PHONE = re.compile(r"(?<![\w.+/-])(?:\+\d[\d ().-]{7,16}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})(?![\w-]|\.\d)")
_HOST_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z][A-Za-z0-9-]*"
_HOST = re.compile(
    rf"(?<=://)(?:[\w.-]+@)?(?P<url>{_HOST_NAME})|(?<![\w.-])(?P<own>[\w-]{{2,40}}(?:\.[\w-]{{1,40}}){{0,4}}"
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
