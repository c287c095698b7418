"""Requests that real agents sent to an endpoint that plays a model: reduced to sizes, and a policy's decisions on them.

    python -m evidence.observed FOLDER > tests/answers/validation/observed.json

reads a folder of such recordings (one line per request: kind, status, tokens, and per item role, characters, tokens and
which prepared results it holds) and prints them with sizes alone, a few hundred bytes a run.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.transcript import Call, Compaction, Head, Item, Transcript, Usage
from evidence.decisions import Decision, decisions

SETTINGS: dict[str, list[tuple[str, str, int]]] = {
    # by agent: part of the run's name, policy label, and the window that the agent got (see the recordings' README)
    # Codex ran offline, so it cut the results of gpt-5.2-codex to 10,000 bytes, as its policy does without a model.
    "codex": [("loop~openai", "codex:remote=True", 40_000), ("loop~", "codex", 40_000), ("multi", "codex", 40_000),
              ("nousage", "codex", 40_000), ("loop-compactfull", "codex", 40_000), ("", "codex", 272_000)],
    "opencode": [(run, "opencode:output=4096", 40_000) for run in ("loop~", "multi", "half", "nousage")]
    + [("doc53k", "opencode:output=4096", 50_000), ("", "opencode:output=4096", 200_000)],
    "pi": [(run, "pi:version=0.73.1", 40_000) for run in ("loop~", "multi", "nousage")]
    + [("doc53k", "pi:version=0.73.1", 60_000), ("", "pi:version=0.73.1", 200_000)],
    "gemini": [("", "gemini-cli:compression_threshold=0.03", 1_048_576)],
    "qwen-code": [("", "qwen-code", 80_000)],
    "cline": [("basic", "cline:strategy=basic", 128_000), ("", "cline", 128_000)],
    "copilot": [("leap", "copilot-cli", 24_000), ("loop40", "copilot-cli", 100_000), ("", "copilot-cli", 40_000)],
    "openhands": [("", "openhands:max_tokens=40000", 200_000)],
}  # fmt: skip
ENDS = ("opencode", "pi")
"""Agents that decide by the usage of their last response too."""


COUNTS_BY = {"openhands": "cl100k_base"}
"""The vocabulary by which an agent counts results itself, if that isn't o200k_base."""


class New(msgspec.Struct, array_like=True):
    """An item that joined: role (`u`ser, `a`ssistant text, `c`all, `r`esult), characters, tokens, lines, the result's
    number, and for a result that the agent had cut its characters before (`whole`; else 0)."""

    role: str
    chars: int
    tokens: int
    lines: int = 0
    number: int = 0
    whole: int = 0


class Step(msgspec.Struct, array_like=True):
    """A main request: its tokens in and out as the endpoint reported them, and the items that joined since the one
    before; whether it was refused first; why the agent compacted before it ('': it didn't), the numbers of the results
    that stayed, and the characters and tokens of the summary."""

    tokens_in: int
    tokens_out: int
    new: list[New]
    refused: bool = False
    compacted: str = ""
    held: list[int] = []
    summary: tuple[int, int] = (0, 0)


class Run(msgspec.Struct):
    """One run of an agent: the label of the agent's policy, the window, the system prompt's characters and tokens, and
    the tokens of the tools."""

    agent: str
    name: str
    label: str
    window: int
    system: tuple[int, ...]
    tools: int
    steps: list[Step]
    end: Step | None = None
    """The refusal or compaction after the last answered request, if any."""


# from recordings to sizes


def reduced(folder: Path) -> Iterator[Run]:
    """Yield every run under a folder of recordings."""
    for agent in SETTINGS:
        for file in sorted((folder / agent).glob("*.jsonl.gz")):
            name = file.name.removesuffix(".jsonl.gz")
            label, window = next((label, size) for part, label, size in SETTINGS[agent] if part in name)
            requests = [json.loads(line) for line in _read(file).splitlines()]
            yield _run(agent, name, label, window, requests, _Script(folder / "scripts" / name.partition("~")[0]))


def _read(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode("utf-8")


class _Script:
    """The prepared results of a script, and the factor on the usage that its endpoint reported."""

    def __init__(self, folder: Path) -> None:
        script = json.loads((folder / "script.json").read_text(encoding="utf-8"))
        self.factor = 0.0 if script.get("no_usage") else script.get("usage_factor", 1.0)
        texts = {int(file.name[7:9]): _read(file) for file in folder.glob("result_*.gz")}
        self.lengths = {number: len(text) for number, text in texts.items()}
        self.lines = {number: text.count("\n") for number, text in texts.items()}
        self._texts = texts

    def result(self, number: int) -> New:
        """Return a result that was compacted before any request held it."""
        tokens = Counter(open_tokenizer("o200k_base")).text(self._texts[number])
        return New("r", self.lengths[number], tokens, self.lines[number], number)

    def longer(self, number: int, vocabulary: str) -> float:
        """Return a result's tokens by another vocabulary, divided by those of o200k_base."""
        if number not in self._texts:
            return 1.0
        by, ours = (Counter(open_tokenizer(name)).text(self._texts[number]) for name in (vocabulary, "o200k_base"))
        return by / ours


def _run(agent: str, name: str, label: str, window: int, requests: list[dict[str, Any]], script: _Script) -> Run:
    requests = [one for one in requests if one["kind"] != "title" and one["status"] != 429]
    first = next(one for one in requests if one["kind"] == "main")
    begin = [item for item in first["items"] if item["role"] in ("system", "developer")]
    strings = sum(item["tokens"] for item in first["items"])
    head = tuple(sum(item[size] for item in begin) for size in ("chars", "tokens"))
    tools = first["tokens_in"] - strings
    run = Run(agent, name, label, window, head, tools, [])
    between: list[dict[str, Any]] = []  # requests since the last answered main request
    known: set[int] = set()
    last: list[dict[str, Any]] = []
    called = 0  # the step whose call the last response made
    for one in requests:
        if one["kind"] != "main" or one["status"] != 200:
            between.append(one)
            continue
        step = _step(agent, between, one, last, known, script)
        if run.steps and called and all(new.role != "r" for new in step.new) and called + 1 in script.lengths:
            step.new = [run.steps[-1].new[0], script.result(called + 1), *step.new]
            known.add(called + 1)
        called = one["step"] if one["calls"] else 0
        run.steps.append(step)
        between, last = [], one["items"]
    if between:
        run.end = _step(agent, between, None, last, known, script)
    return run


def _step(
    agent: str,
    between: list[dict[str, Any]],
    main: dict[str, Any] | None,
    last: list[dict[str, Any]],
    known: set[int],
    script: _Script,
) -> Step:
    # A summary's prompt is the last item of its request. Copilot asks for its summary beside the conversation.
    told = [{**one, "items": one["items"][:-1]} if one["kind"] == "compact" else one for one in between]
    asked = [*(told if agent != "copilot" or main is None else []), *([main] if main else [])]
    refused = [one for one in between if one["kind"] == "main"]
    items = main["items"] if main else last
    held = [number for item in items if item["role"] == "tool" for number in _numbers(item)]
    gone = bool(known - set(held)) and len(items) < len(last)
    # A compaction beside the conversation counts when its summary is used, not when it is requested.
    compacted = gone if agent == "copilot" else gone or any(one["kind"] == "compact" for one in between)
    if compacted and main is not None and agent != "copilot" and items[: len(last)] == last:
        compacted = False
    new = _new(asked, last, known, script, COUNTS_BY.get(agent, "")) if last or main is None else _first(items)
    return Step(
        round(main["tokens_in"] * script.factor) if main else 0,
        round(main["tokens_out"] * script.factor) if main else 0,
        new,
        bool(refused),
        ("overflow" if refused else "auto") if compacted else "",
        sorted(set(held)) if compacted else [],
        _summary(agent, items) if compacted and main else (0, 0),
    )


def _summary(agent: str, items: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the characters and tokens of what replaces the history: all user texts, or only the last one of codex."""
    spoken = [item for item in items if item["role"] in ("user", "compaction")]
    spoken = spoken[-1:] if agent == "codex" else spoken
    return sum(item["chars"] for item in spoken), sum(item["tokens"] for item in spoken)


def _first(items: list[dict[str, Any]]) -> list[New]:
    return [New("u", item["chars"], item["tokens"]) for item in items if item["role"] == "user"]


def _numbers(item: dict[str, Any]) -> list[int]:
    return [int(key[1:]) for key in item.get("holds") or {}]


def _new(
    asked: list[dict[str, Any]], last: list[dict[str, Any]], known: set[int], script: _Script, vocabulary: str
) -> list[New]:
    """Return what joined since the last answered request: the response, its results, and the user's next text."""
    found: list[New] = []
    request = next((one for one in asked if one["kind"] == "main" or one["tools"]), asked[0])
    tail = _after(request["items"], last)
    for item in tail or _unseen(asked, known):
        if item["role"] == "tool":
            number = next(iter(_numbers(item)), 0)
            if number and number in known:
                continue
            known.add(number)
            lines = sum(held[2] for held in (item.get("holds") or {}).values())
            whole = script.lengths.get(number, 0)
            tokens = round(item["tokens"] * (script.longer(number, vocabulary) if vocabulary else 1))
            found.append(New("r", item["chars"], tokens, lines, number, whole if whole > item["chars"] else 0))
        elif item["role"] in ("assistant", "user"):
            found.append(New(item["role"][0], item["chars"], item["tokens"]))
    return _as_calls(found)


def _after(items: list[dict[str, Any]], last: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items after the last one of the request before; none if that one is gone."""
    if items[: len(last)] == last:
        return items[len(last) :]
    for position in range(len(items) - 1, -1, -1):
        if items[position] == last[-1]:
            return items[position + 1 :]
    return []


def _unseen(asked: list[dict[str, Any]], known: set[int]) -> list[dict[str, Any]]:
    """Return the items after a compaction from the first new result on, with the call before it."""
    for one in asked:
        for position, item in enumerate(one["items"]):
            if item["role"] == "tool" and _numbers(item) and not set(_numbers(item)) <= known:
                start = position
                while start and one["items"][start - 1]["role"] == "assistant" and position - start < 2:
                    start -= 1
                return list(one["items"][start:])
    return []


def _as_calls(found: list[New]) -> list[New]:
    """Mark the response's last item before a result as its call."""
    for before, item in pairwise(found):
        if item.role == "r" and before.role == "a":
            before.role = "c"
    return found


# from sizes to a conversation

WORDS = {2: " a", 3: " of", 4: " the", 5: " that", 6: " which", 7: " people", 8: " because", 9: " function"}
"""Words by their length; each is one token in every vocabulary that a policy here counts by."""


@cache
def text_of(chars: int, tokens: int, lines: int = 0) -> str:
    """Return a text of `chars` characters, and of `tokens` tokens and `lines` lines as nearly as possible."""
    counter, wanted, made = Counter(open_tokenizer("o200k_base")), tokens, ""
    for _ in range(4):
        made = _about(chars, wanted, lines)
        wanted += tokens - counter.text(made)
    return made


def _about(chars: int, tokens: int, lines: int) -> str:
    if chars <= 0:
        return ""
    # A line feed is a token of its own.
    count = max(1, tokens - max(0, lines - 1))
    size, more = divmod(chars, count)
    size, more = (2, 0) if size < 2 else (8, 0) if size > 8 else (size, more)
    words = [WORDS[size + 1]] * more + [WORDS[size]] * (count - more)
    every = count // lines if lines > 1 else count
    for number in range(every, count, max(1, every)):
        words[number] = f"\n{words[number][1:]}"
    text = "".join(words)[:chars]
    return text + "x" * (chars - len(text))


def conversation(run: Run) -> tuple[Transcript, set[int]]:
    """Return a run as a transcript of invented texts, and the calls whose first request was refused."""
    items: list[Item] = []
    calls: list[Call] = []
    compactions: list[Compaction] = []
    refused: set[int] = set()
    numbers: dict[int, int] = {}  # the place of each result
    spoken = 0
    for number, step in enumerate([*run.steps, *([run.end] if run.end else [])], 1):
        start = len(items)
        for position, new in enumerate(step.new):
            _join(items, new, position, numbers)
        response = [item for item in items[start:] if item.kind in ("assistant", "tool_call")]
        if calls and response:
            calls[-1] = msgspec.structs.replace(calls[-1], end=response[-1].place + 1)
        elif calls:
            spoken += 1
            items.insert(start, Item("assistant", start, _message(items) + 1, "done"))
            items[start + 1 :] = [
                msgspec.structs.replace(item, place=item.place + 1, message=item.message + 1)
                for item in items[start + 1 :]
            ]
            numbers = {n: place + (place >= start) for n, place in numbers.items()}
            calls[-1] = msgspec.structs.replace(calls[-1], end=start + 1)
        if step.refused:
            refused.add(number)
        if step.compacted:
            results = [items[numbers[n]] for n in step.held if n in numbers]
            asked = {items[result.answers or 0].message for result in results}
            kept = [item.place for item in items if item.message in asked or item in results]
            users = [item.place for item in items if item.kind == "user"] if run.agent == "codex" else []
            cause = "overflow" if step.compacted == "overflow" else "auto"
            compactions.append(
                Compaction(number, len(items), cause, (text_of(*step.summary),), tuple(sorted({*kept, *users})))
            )
        if step is not run.end:
            usage = Usage(step.tokens_in, step.tokens_out)
            calls.append(Call(len(items), len(items), usage))
    # Only the tokens of the tools' schemas are known. A token of this JSON has about five characters.
    head = Head(text_of(*run.system), (text_of(5 * run.tools, run.tools),), recorded=False)
    return (
        Transcript(f"{run.agent}/{run.name}", head, tuple(items), tuple(calls), compactions=tuple(compactions)),
        refused,
    )


def _message(items: list[Item]) -> int:
    return items[-1].message if items else -1


def _join(items: list[Item], new: New, position: int, numbers: dict[int, int]) -> None:
    place, message = len(items), _message(items)
    text = text_of(new.chars, new.tokens, new.lines)
    if new.role == "r":
        if new.whole:
            text = text_of(new.whole, new.whole * new.tokens // new.chars, new.lines * new.whole // new.chars)
        call = next((item.place for item in reversed(items) if item.kind == "tool_call"), None)
        joined = items[-1].kind == "tool_result" if items else False
        items.append(Item("tool_result", place, message + (not joined), text, "bash", call))
        if new.number:
            numbers[new.number] = place
    elif new.role == "c":
        same = position and items[-1].kind == "assistant"
        # The name of the tool, `bash`, is part of the call's size.
        text = text_of(new.chars - 4, new.tokens - 1)
        items.append(Item("tool_call", place, message + (not same), text, "bash"))
    elif new.role == "a":
        items.append(Item("assistant", place, message + 1, text))
    else:
        items.append(Item("user", place, message + 1, text))


def decided(run: Run) -> list[Decision]:
    """Return what the agent's policy decided in a run, beside what the agent did."""
    transcript, refused = conversation(run)
    return list(decisions(transcript, open_policy(run.label), run.window, refused, run.agent in ENDS))


def read_runs(file: Path) -> list[Run]:
    """Return the reduced runs of a file."""
    return msgspec.json.decode(file.read_bytes(), type=list[Run])


def main() -> None:
    """Print the reduced runs, one a line."""
    lines = [msgspec.json.encode(run).decode() for run in reduced(Path(sys.argv[1]))]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
