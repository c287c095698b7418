"""What kind of content a text is: JSON, HTML, code, logs, prose and so on, by a few cheap signs."""

import json
import re

KINDS = (
    "empty", "json", "html", "diff", "base64", "csv", "log", "markdown", "code", "minified", "other-script", "prose",
)  # fmt: skip

SAMPLE_CHARS = 8_000

_HTML = re.compile(r"<(?:!doctype|html|head|body|div|table|tr|td|span|p|a|ul|li|svg|style|script)\b[^<>]*>", re.I)
_DIFF = re.compile(r"^(?:diff --git |--- \S+|\+\+\+ \S+|@@ -\d+)", re.M)
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{120,}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d")
_LEVEL = re.compile(r"\b(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|PASSED|FAILED)\b")
_MARKDOWN = re.compile(r"^(?:#{1,6} \S|[-*] \S|\d+\. \S|```|> \S|\|.+\|)|\]\(https?://|\*\*\w", re.M)
_CODE = re.compile(
    r"^(?:[\w./-]+:)?\s*(?:\d+[\t:|→ -]\s*)?(?:"
    r"(?:def|class|import|from|return|raise|assert|function|const|let|var|public|private|static|package|func|fn|use|export"
    r"|async|await|type|struct|enum|interface|module|namespace|yield|pass|break|continue|else|try|finally|global|del)\b.*"
    r"|(?:if|elif|for|while|with|except|switch|case|match)\b.*[:{(]\s*.*"
    r"|[\w.$\[\]\"'*, ]+(?::\s*[\w\[\], .|\"]+)?\s*[-+*/|&]?=(?![=>]).*"
    r"|[\w.$]+\(.*|@[\w.]+.*|#!?(?:include|define|if|end)?.*|//.*|/?\*.*|--? ?\w.*;"
    r"|[})\]]+[,;:)\]}]*.*|.*[{;]|.*\):|.*=> ?.*"
    r"|[\"'][\w ./-]*[\"'],?|\w+,"
    r")\s*$",
    re.M,
)
_COMMAS = re.compile(r"[,\t;]")


def content_kind(text: str) -> str:
    """Return one of KINDS. Looks at the first 8,000 characters; the first sign that fits decides."""
    sample = text[:SAMPLE_CHARS].strip()
    if not sample:
        return "empty"
    if sample[0] in "{[" and _is_json(text, sample):
        return "json"
    if len(_HTML.findall(sample)) >= 3 or sample[:15].lower().startswith(("<!doctype", "<html")):
        return "html"
    if len(_DIFF.findall(sample)) >= 2:
        return "diff"
    if sum(map(len, _BLOB.findall(sample))) > 0.5 * len(sample):
        return "base64"
    if not sample.isascii():
        letters = list(filter(str.isalpha, sample))
        if sum(letter > "\u024f" for letter in letters) > 0.3 * len(letters):
            return "other-script"
    lines = [line for line in sample.split("\n") if line.strip()]
    if len(sample) > 1_000 and len(sample) / len(lines) > 500 and sample.count(" ") < 0.1 * len(sample):
        return "minified"
    return _by_lines(sample, lines)


def _is_json(text: str, sample: str) -> bool:
    if len(text) <= SAMPLE_CHARS:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return bool(re.match(r'[\[{]\s*(?:[\[{"\d]|true|false|null|\]|\})', sample)) and sample.count('":') >= 3
        return True
    return sample.count('":') >= 5 or bool(re.match(r"\[\s*(?:[\d\[]|\"[^\"]*\",)", sample))


def _by_lines(sample: str, lines: list[str]) -> str:
    share = 1 / len(lines)
    commas = [len(_COMMAS.findall(line)) for line in lines]
    regular = commas[0] and commas.count(commas[0]) >= 0.8 * len(lines)
    if regular and len(lines) >= (3 if commas[0] >= 2 else 8):
        return "csv"
    stamped = sum(bool(_TIME.search(line) or _LEVEL.search(line)) for line in lines)
    if len(lines) >= 2 and stamped * share > 0.4:
        return "log"
    # The start of a line says what it is, and long lines would make the expression slow.
    code = sum(bool(_CODE.match(line[:160])) for line in lines) * share
    markdown = len(_MARKDOWN.findall(sample)) * share
    if code > 0.4 and code >= markdown:
        return "code"
    if markdown > 0.15:
        return "markdown"
    return "prose"
