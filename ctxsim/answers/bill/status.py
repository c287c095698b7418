"""The text of an agent's status line: window used, dollars of the session, calls until compaction.

It runs at every message, so it imports little and reads only what was appended to a log since the last run. It stores
only numbers about a project's logs, in the user's cache folder.

Input: https://code.claude.com/docs/en/statusline
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

# Type checkers treat this name as true; importing typing would take a tenth of the time budget.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    State = dict[str, Any]

RESERVE, BUFFER = 20_000, 13_000
"""Tokens below the window at which Claude Code compacts, as its settings.toml has them."""

LATE = (
    ([2, 1, 153], [2, 1, 163], ""),
    ([2, 1, 163], [9], r"claude-3|claude-\w+-4-[0125]|-4-6\[1m\]$"),
    ([2, 1, 163], [2, 1, 217], "opus-4-8"),
    ([2, 1, 163], [2, 1, 285], r"\[1m\]$|opus-4-7|fable"),
)
"""From a version to below another, models that compact only after a refusal, unless a window is set."""

SMALLEST, LARGEST = 100_000, 1_000_000
"""Limits of `autoCompactWindow`: a key's value outside them is ignored, a variable's is moved to the nearer limit."""

FILES = ("settings.local.json", "settings.json")
"""A project's settings files, the one that takes precedence first; a user has only the last one."""

MOST_GROWTHS = 400
"""Growths kept of one session; older ones say little about the next ones."""

LEAST_SEEN = 10
"""Least spans in which the request grew by what is left, for an estimate of the calls that this takes."""

MOST_SESSIONS = 20
"""Other sessions of a project that are read, the newest."""

BESIDE_BYTES = 2_000_000
"""Bytes of the project's other sessions that one run reads; the next run continues there."""

INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The usage fields that add up to a request's tokens."""

SHARES = (0.05, 0.5, 0.95)
"""Quantiles of an interval: low end, middle, high end. `python -m evidence.sessions` says how many spans it held."""


def line(said: Any, home: Path, cache: Path) -> str:
    """Return the status line for the agent's input `said`; `home` is the settings folder, `cache` the cache folder.

    Unknown parts are left out.
    """
    said = said if isinstance(said, dict) else {}
    log = Path(text) if isinstance(text := said.get("transcript_path"), str) and text else None
    known = _remembered(cache, log)
    own: State = known.get(log.name, {}) if log else {}
    # A new session has no log yet.
    if log and log.exists():
        own = known[log.name] = _read(log, own, None)
        _beside(log, known)
        _remember(cache, log, known)
    window = _of(said, "context_window")
    size = _number(window.get("context_window_size")) or 200_000
    usage = _of(window, "current_usage")
    # Tokens of the last request and its answer.
    used = sum(_number(usage.get(name)) for name in (*INPUT, "output_tokens")) or own.get("tokens", 0)
    parts = [str(_of(said, "model").get("display_name") or _of(said, "model").get("id") or "")]
    if used:
        parts.append(f"{used / size:.0%} of {size / 1000:,.0f}K")
    if (usd := _of(said, "cost").get("total_cost_usd")) is not None:
        parts.append(f"{_number(usd):,.2f} USD")
    project = Path(str(_of(said, "workspace").get("project_dir") or "."))
    files = [*(project / ".claude" / name for name in FILES), home / FILES[-1]]
    limit = _limit(size, files, dict(os.environ), _proactive(said))
    if used and limit:
        parts.append(_ahead(limit - used, [one.get("growths", []) for one in known.values()]))
    shown = " · ".join(filter(None, parts))
    return shown or "ctxsim: nothing to tell yet"


def _of(said: State, name: str) -> State:
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12 else 0.0


def _proactive(said: State) -> bool:
    """Whether the agent compacts before a refusal if no window is set."""
    numbers = str(said.get("version", "")).partition("-")[0].split(".")
    version = [int(part) for part in numbers if part.isdecimal()]
    model = str(_of(said, "model").get("id"))
    return not any(first <= version < end and re.search(models, model) for first, end, models in LATE)


def _limit(size: float, files: list[Path], environment: State, proactive: bool = True) -> float:
    """Tokens at which Claude Code compacts, by the rules of its settings.toml; 0 if it doesn't before a refusal.

    Earlier files take precedence over later ones, and variables over keys.
    """
    keys: State = {}
    variables = dict(environment)
    for file in reversed(files):
        found = _settings(file)
        keys |= found
        variables |= {name: str(value) for name, value in _of(found, "env").items()}
    off = (variables.get(name, "").lower() in ("1", "true") for name in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"))
    if keys.get("autoCompactEnabled") is False or any(off):
        return 0.0
    window = _number(keys.get("autoCompactWindow"))
    window = window if SMALLEST <= window <= LARGEST else 0.0
    if said := _count(variables.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "")):
        window = min(max(said, SMALLEST), LARGEST)
    if not proactive and not window:
        return 0.0
    output = _count(variables.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "")) or RESERVE
    room = min(size, window or size) - min(RESERVE, output)
    share = _count(variables.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", ""))
    return min(room - BUFFER, room * share / 100 if 1 <= share <= 100 else room)


def _settings(path: Path) -> State:
    """The contents of a settings file; {} if it can't be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return {}
    if "//" in text or "/*" in text:
        from ctxsim.plugins.files import without_comments

        text = without_comments(text)
    return _object(text)


def _object(text: str | bytes) -> State:
    """The object in a JSON text; {} if it holds none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _count(text: str) -> float:
    """A number of tokens in a variable's text: 300k is 300,000; 0 if it is no number."""
    digits, thousands = (text[:-1], 1_000) if text[-1:] in ("k", "K") else (text, 1)
    return float(digits) * thousands if digits.isascii() and digits.isdecimal() else 0.0


def _ahead(left: float, series: list[list[int]]) -> str:
    """In how many calls `left` tokens are used up, in words: as many as spans of that growth took in the sessions."""
    if left <= 0:
        return "compaction at the next call"
    seen = sorted(calls for growths in series for calls in _calls(growths, left))
    if len(seen) < LEAST_SEEN:
        return ""
    low, about, high = (seen[round(share * (len(seen) - 1))] for share in SHARES)
    return f"compaction in about {about:,} call{'s' * (about != 1)} ({low:,} to {high:,})"


def _calls(growths: list[int], left: float) -> Iterator[int]:
    """Yield, for each call of a session, the number of calls until the session had grown by `left` tokens."""
    end, grown = 0, 0
    for start, own in enumerate(growths):
        while end < len(growths) and grown < left:
            grown += growths[end]
            end += 1
        if grown < left:
            return
        yield end - start
        grown -= own


def _read(log: Path, known: State, most: int | None) -> State:
    """The state `known` of a log, updated with the whole lines among its next `most` bytes, None for all."""
    new: State = {"at": 0, "tokens": 0, "id": "", "growths": []}
    found = new | known
    with log.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size < found["at"]:
            found = new
        stream.seek(found["at"])
        data = stream.read(-1 if most is None else most)
    # A line that is still being written is read the next time; one longer than BESIDE_BYTES is skipped.
    end = data.rfind(b"\n") + 1 or (len(data) if most == BESIDE_BYTES == len(data) else 0)
    for one in data[:end].split(b"\n"):
        if b'"usage"' in one and b'"assistant"' in one:
            _hear(found, one)
    found["at"] += end
    found["growths"] = found["growths"][-MOST_GROWTHS:]
    return found


def _hear(found: State, text: bytes) -> None:
    said = _object(text)
    if said.get("type") != "assistant" or said.get("isSidechain"):
        return
    message = _of(said, "message")
    usage, name = _of(message, "usage"), " ".join(str(one) for one in (message.get("id"), said.get("requestId")) if one)
    tokens = round(sum(_number(usage.get(key)) for key in INPUT))
    if not tokens or (name and name == found["id"]):
        return
    if found["tokens"] and tokens >= found["tokens"]:
        found["growths"].append(tokens - found["tokens"])
    found["tokens"], found["id"] = tokens, name


def _beside(log: Path, known: dict[str, State]) -> None:
    """Read on in the project's other sessions, newest first, up to BESIDE_BYTES in all."""
    room = BESIDE_BYTES
    logs = (one for one in os.scandir(log.parent) if one.name.endswith(".jsonl") and one.name != log.name)
    others = sorted(((one.stat().st_mtime, one.stat().st_size, one.name) for one in logs), reverse=True)[:MOST_SESSIONS]
    for name in set(known) - {log.name, *(name for _, _, name in others)}:
        del known[name]
    for _, size, name in others:
        before = known.get(name, {}).get("at", 0)
        if room > 0 and size > before:
            try:
                known[name] = _read(log.with_name(name), known.get(name, {}), room)
            except OSError:
                continue
            room -= known[name]["at"] - before


def _place(cache: Path, log: Path) -> Path:
    from zlib import crc32

    # The name holds a hash, as folder names are private.
    folder = str(log.parent)
    return cache / "ctxsim" / "status" / f"{crc32(os.fsencode(folder)):08x}{len(folder)}.json"


def _remembered(cache: Path, log: Path | None) -> dict[str, State]:
    try:
        known = _object(_place(cache, log).read_bytes()) if log else {}
    except (OSError, ValueError):
        return {}
    return {name: one for name, one in known.items() if isinstance(one, dict)}


def _remember(cache: Path, log: Path, known: dict[str, State]) -> None:
    place = _place(cache, log)
    temporary = place.with_suffix(f".{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(json.dumps(known), encoding="utf-8")
        temporary.replace(place)
    except OSError:
        return


def main() -> None:
    """Print the status line for the JSON on standard input. Any error becomes one short line, so the agent goes on."""
    try:
        said = json.loads(sys.stdin.buffer.read() or b"{}")
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        shown = line(said, home, Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
    # An error must never disturb the agent.
    except Exception as error:  # noqa: BLE001
        shown = f"ctxsim: {type(error).__name__}"
    try:
        sys.stdout.write("".join(one if one.isprintable() else "?" for one in shown)[:200] + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        # The reader is gone, or the encoding lacks a character. Else Python would report a lost reader again at exit.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
