"""The documented case: an assistant reads mail and job pages until the seventh call needs 53K input tokens.

The growth (2K, 12K after gmail_read, 28K after linkedin_jobs, 53K) is that of document 001; all text is our own.
"""

import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis import job_pages
from ctxsim.synthesis.job_pages import Job, Mail
from ctxsim.synthesis.scenario import Session, schema
from ctxsim.synthesis.words import digits, fit, hexadecimal, prose
from ctxsim.transcript import Head, Transcript

_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """`input_tokens` of the seven calls, counted with head, without framing."""

    input_tokens: Annotated[list[int], msgspec.Meta(min_length=7, max_length=7)]


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the seven-call transcript."""
    mails, jobs = job_pages.make_mails(rng), job_pages.make_jobs(rng)
    task = _SAID["task"]
    tools = tuple(schema(tool, about, fields, fields) for tool, about, fields in _SAID["tools"])
    words = prose(rng, 8000)
    fixed = sum(map(counter.text, (*tools, task)))
    first, *totals = wanted.input_tokens
    system = fit(_SAID["system"].format, words, first - fixed, counter.text)

    def told(text: str) -> str:
        return text.format(mails=mails, jobs=jobs)

    made = Session()
    made.user(task)
    total = first
    pages = _pages(rng, mails, jobs)
    for page, wanted_tokens, (said, tool, given) in zip(pages, totals, _SAID["calls"], strict=True):
        start = len(made.items)
        arguments = json.dumps({name: told(value) for name, value in given.items()})
        made.respond(told(said), tool, arguments, call_id=f"call_{len(made.calls) + 1}")
        total += sum(map(counter.item, made.items[start:]))
        text = fit(page, words, wanted_tokens - total, counter.text)
        total += counter.text(text)
        made.result(text)
    made.respond(told(_SAID["answer"]))
    return made.transcript(Head(system, tools))


def _pages(rng: random.Random, mails: list[Mail], jobs: list[Job]) -> list[Callable[[str], str]]:
    label = digits(rng, 8)
    stamp = hexadecimal(rng, 12)

    def short(notes: str) -> str:
        return json.dumps({"ok": True, "label_id": f"Label_{label}", "history_id": stamp, "note": notes})

    return [
        job_pages.search_hits(rng, mails), job_pages.html_mail(rng, mails[0], inline_image_bytes=2600), short,
        job_pages.job_search_page(rng, jobs), job_pages.job_page(rng, jobs[1]),
        job_pages.html_mail(rng, mails[1], inline_image_bytes=2000),
    ]  # fmt: skip
