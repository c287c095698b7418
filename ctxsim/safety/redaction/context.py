"""Secrets recognized by the text before them: a name such as `password`, a header, an address with a user, an option.

The value must look like a secret: no word, name, path, version or placeholder of a manual. Passwords that are words are
therefore missed. `evidence.redacted` measures on recordings how often other text is redacted.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

PASSWORD, SECRET, HEADER, COOKIE, ADDRESS, OPTION, HOOK = (
    "password", "secret by its name", "authorization header", "cookie", "user:password@", "password option", "webhook"
)  # fmt: skip
KINDS = (PASSWORD, SECRET, HEADER, COOKIE, ADDRESS, OPTION, HOOK)

_QUOTE = r"(?:\\*[\"'`])"
_IS = rf"{_QUOTE}?\]?[ \t]{{0,3}}(?:(?::[ \t]?(?:&?str|[Ss]tring|SecretStr)[ \t]?)?(?::=|=>|=|:)|,(?=[ \t]?{_QUOTE}))"
_BARE = r"[^\s\"'`,;<>(){}\[\]\\&|]"
_IN_QUOTES = r"[^\s\"'`\\]"
_VALUE = rf"[ \t]{{0,3}}(?:[bru]?{_QUOTE}(?P<quoted>{_IN_QUOTES}{{6,300}}){_QUOTE}|(?P<bare>{_BARE}{{6,300}}))"


_SCHEMES = "abcdefghijklmnopqrstuvwxyz0123456789"
"""Characters with which the name of a URL scheme may end."""


class _Rule(NamedTuple):
    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    least: int


def _rule(kind: str, needles: tuple[str, ...], pattern: str, least: int = 0) -> _Rule:
    return _Rule(kind, needles, re.compile(pattern, re.IGNORECASE | re.ASCII), least)


_RULES = (
    _rule(PASSWORD, ("passw", "passphrase", "_pass", *(f"pwd{one}" for one in "=: \"'>\\")),
          rf"(?:password|passwd|passphrase|pwd|_pass)(?:{_IS}|[ ](?:is|was)[ ]|>){_VALUE}", 6),
    _rule(SECRET, ("secret", "token", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey",
                   "private_key", "_key", "credential", "_auth", "accountkey", "signature", "sig="),
          r"(?:secret(?:[_-]?(?:access[_-]?)?key)?|token|api[_ -]?key|access[_-]?key|private[_-]?key|credentials?|_auth"
          rf"|(?-i:(?<=[A-Z0-9])_KEY)|accountkey|signature|(?<=[?&])sig)(?:{_IS}|[ ]is[ ]|>){_VALUE}", 12),
    _rule(HEADER, ("authorization", "bearer ", "bearer%20"),
          rf"(?:authorization{_IS}[ \t]{{0,3}}{_QUOTE}?(?:(?:basic|token|apikey|key|digest)[ ]+)?"
          r"|bearer(?:[ ]+|%20))(?P<bare>[\w.~+/=:-]{8,2000})", 12),
    _rule(COOKIE, ("cookie",), rf"cookie{_IS}[ \t]{{0,3}}{_QUOTE}?(?P<all>[\w.-]{{1,64}}=[^\s\"'`\\;]{{6,2000}}"
          r"(?:;[ ]?[\w.-]{1,64}(?:=[^\s\"'`\\;]{0,2000})?){0,40})"),
    _rule(ADDRESS, tuple(f"{one}://" for one in _SCHEMES), r".://[^\s:/@\"'`<>{}$]{0,64}"
          r":(?P<user>[^\s:/@\"'`<>{}$*]{3,200})@(?=[\w\[])"),
    _rule(HOOK, ("hooks.slack.com/services/", "/api/webhooks/", "webhook.office.com/"),
          r"(?:hooks\.slack\.com/services|/api/webhooks|webhook\.office\.com)/(?P<all>[\w/@-]{24,300})"),
    _rule(OPTION, ("mysql", "mariadb", "mongo", "sshpass", "docker login", "redis-cli", "ldap", "ftp ", "curl",
                   "wget", "smbclient", "unzip", "7z a", "7z x", "--password", "--token", "--api-key", "--secret",
                   "identified by", "requirepass", "machine "),
          r"(?:(?:mysql|mariadb|mongo|sshpass|docker login|redis-cli|ldap|ftp|smbclient|unzip|7z[ ][ax])"
          r"[^\n|;&]{0,200}?"
          rf"[ ]-(?:p|P|a|w)(?:[ ]?{_QUOTE}(?P<quoted>{_IN_QUOTES}{{6,100}}){_QUOTE}|[ ]?(?P<bare>{_BARE}{{6,100}}))"
          rf"|(?:curl|wget|smbclient|ldap)[^\n|;&]{{0,200}}?[ ](?:-[uU]|--user)[ =]?{_QUOTE}?[\w.@-]{{1,64}}[:%]"
          rf"(?P<user>{_BARE}{{4,100}})"
          rf"|--(?:password|token|api-key|secret)(?:[ ]|=){_QUOTE}?(?P<option>{_BARE}{{6,300}})"
          rf"|(?:identified[ ]by|requirepass)[ ]{_QUOTE}?(?P<sql>{_BARE}{{6,100}})"
          rf"|machine[ ][^\s]{{1,100}}\s+login[ ][^\s]{{1,100}}\s+password[ ](?P<netrc>{_BARE}{{6,100}}))", 6),
)  # fmt: skip

_LONG = 400
"""A match of more characters isn't searched again by the same rule, which bounds the time."""

_BY_FOUR: dict[int, list[_Rule]] = {}
for _one in _RULES:
    for _needle in _one.needles:
        _known = _BY_FOUR.setdefault(int.from_bytes(_needle[:4].encode(), "little"), [])
        _known += [] if _one in _known else [_one]
_FOURS = np.array(sorted(_BY_FOUR), np.uint32)
_TWOS = np.zeros(1 << 16, np.bool_)
_TWOS[_FOURS & 0xFFFF] = True

_NONE = re.compile(
    r"\$|%[sdr({]|\{\{|<|\*\*|\.\.\.|…|xxx|(?:^|[^a-z])(?:your|my|example|sample|dummy|fake|mock|placeholder|redacted"
    r"|change|insert|replace|todo|none|null|true|false|undefined|process|environ|getenv|env|self|this|args?|config"
    r"|settings|options|request|response|user|foo|bar|abc|test|expected|actual|valid|invalid|some|new|old|wrong"
    r"|default|secret|password|passwd|token|key|hash|string|str|bytes|int|bool)(?![a-z])|\d{4}-\d\d-\d\d[t ]"
    r"|^v?\d+(?:\.\d+)+|123456|^/|^\.{1,2}/|^~|\.(?:py|js|ts|json|ya?ml|toml|md|txt|env|go|rs|java|html?|sh|pem|crt)$"
    r"|[!<>]=|==(?=[^=])|&&|\|\||->|::|://|^@|^#|^:|^=|^\+|\[redacted",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w./:-]+", re.ASCII)
_TURN = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")


def _credible(value: str, least: int, kind: str, quoted: bool) -> bool:
    """Whether a value looks like a secret, and unlike what code and manuals have in its place."""
    if len(value) < least or _NONE.search(value) or len(set(value)) < min(6, least):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if not letters or not digits:
        return False
    turns = len(_TURN.findall(value))
    if _NAME.fullmatch(value):
        # Names such as `sha256`, `oauth2_step1` and `src/v2/api.rs` change between letters and digits only a few times.
        if kind in (PASSWORD, OPTION):
            return turns >= 1 and len(value) >= 8 and not re.search(r"[/.:]|_\w+_|-\w+-", value)
        return turns >= (3 if "/" not in value and "." not in value else 5)
    if kind == SECRET:
        return turns >= 3 and re.search(r"[^\w+/=.~-]", value) is None
    return quoted or kind in (OPTION, ADDRESS) or re.search(r"[!@#^?~%+=]", value) is not None


_DEFAULTS = frozenset(
    ("pass", "password", "passwd", "pwd", "secret", "user", "test", "postgres", "root", "admin", "guest", "mysql",
     "example", "token", "key", "pw", "changeme", "x-oauth-basic")
)  # fmt: skip
"""Default passwords in manuals and container images, which aren't secrets."""


def contextual(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each secret of a text that is recognized by the text before it."""
    # One byte per character, so that offsets agree. A pattern is tried only where the first four bytes of a needle are.
    low = text.encode("ascii", "replace").lower()
    if len(low) < 4:
        return
    places = np.flatnonzero(_TWOS[np.ndarray(len(low) - 3, "<u2", low, strides=(1,))])
    fours = np.ndarray(len(low) - 3, "<u4", low, strides=(1,))[places]
    nearest = _FOURS[np.minimum(np.searchsorted(_FOURS, fours), len(_FOURS) - 1)]
    after: dict[str, int] = {}
    for at, four in zip(*(one[nearest == fours].tolist() for one in (places, fours)), strict=True):
        for rule in _BY_FOUR[four]:
            found = rule.pattern.match(text, at) if at >= after.get(rule.kind, 0) else None
            if found and found.end() - at > _LONG:
                after[rule.kind] = found.end()
            if found and (place := _place(rule, found)):
                yield rule.kind, *place


def _place(rule: _Rule, found: re.Match[str]) -> tuple[int, int] | None:
    group = found.lastgroup or "all"
    value = found[group]
    if rule.kind == ADDRESS:
        good = value.lower() not in _DEFAULTS and not re.search(r"^[%$\[]|\*\*|xxx|…|\.\.\.", value)
    elif group == "all":
        good = any(_credible(one, 12, SECRET, True) for one in re.split(r"[=;/ ]+", value))
    else:
        value = value.rstrip(".:,!?" if group == "bare" else "")
        good = _credible(value, rule.least, rule.kind, group == "quoted")
    return (found.start(group), found.start(group) + len(value)) if good else None
