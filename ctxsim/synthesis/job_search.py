"""The documented case: an assistant reads mail and job pages until the seventh call needs 53K input tokens.

The growth (2K, 12K after gmail_read, 28K after linkedin_jobs, 53K) is that of document 001; all text is our own. Mail:
search hits as JSON, and messages as HTML with inline CSS, tracking links and quoted replies. Job site: search results
as nested JSON, and a posting as HTML with embedded state.
"""

import json
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis import words
from ctxsim.synthesis.scenario import Session, schema
from ctxsim.synthesis.words import base64_blob, digits, fit, hexadecimal, host, person, picked, prose, sentence
from ctxsim.transcript import Head, Transcript

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

Page = Callable[[str], str]
"""A tool's result as a function of the prose in it, which makes it as long as wanted."""


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """`input_tokens` of the seven calls, counted with head, without framing."""

    input_tokens: Annotated[list[int], msgspec.Meta(min_length=7, max_length=7)]


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the seven-call transcript."""
    mails, jobs = _mails(rng), _jobs(rng)
    tools = tuple(schema(tool, about, fields, fields) for tool, about, fields in _TEXTS["tools"])
    notes = prose(rng, 8000)
    fixed = sum(map(counter.text, (*tools, _TEXTS["task"])))
    total, *totals = wanted.input_tokens
    system = fit(_TEXTS["system"].format, notes, total - fixed, counter.text)

    def told(text: str) -> str:
        return text.format(mails=mails, jobs=jobs)

    made = Session()
    made.user(_TEXTS["task"])
    for page, beyond, (said, tool, given) in zip(_pages(rng, mails, jobs), totals, _TEXTS["calls"], strict=True):
        start = len(made.items)
        arguments = json.dumps({name: told(value) for name, value in given.items()})
        made.respond(told(said), tool, arguments, call_id=f"call_{len(made.calls) + 1}")
        total += sum(map(counter.item, made.items[start:]))
        text = fit(page, notes, beyond - total, counter.text)
        total += counter.text(text)
        made.result(text)
    made.respond(told(_TEXTS["answer"]))
    return made.transcript(Head(system, tools))


def _pages(rng: random.Random, mails: list[SimpleNamespace], jobs: list[SimpleNamespace]) -> list[Page]:
    label, stamp = f"Label_{digits(rng, 8)}", hexadecimal(rng, 12)

    def labelled(prose: str) -> str:
        return json.dumps({"ok": True, "label_id": label, "history_id": stamp, "note": prose})

    return [
        _mail_search(rng, mails), _mail(rng, mails[0], 2600), labelled,
        _job_search(rng, jobs), _job_page(rng, jobs[1]), _mail(rng, mails[1], 2000),
    ]  # fmt: skip


def _jobs(rng: random.Random) -> list[SimpleNamespace]:
    jobs = []
    for firm, city in zip(picked(rng, words.FIRMS, 8), picked(rng, words.CITIES, 8), strict=True):
        job_id = digits(rng, 10)
        low, site = rng.randrange(62, 90) * 1000 + rng.randrange(1, 9) * 100, f"jobs.{host(firm)}"
        jobs.append(
            SimpleNamespace(
                job_id=job_id, firm=firm, city=city, url=f"https://{site}/view/{job_id}",
                title=rng.choice(words.TITLES), contact=f"{person(rng)[1]}@{site}", requisition=f"REQ-{digits(rng, 6)}",
                salary_low=str(low), salary_high=str(low + rng.randrange(9, 25) * 1000),
            )
        )  # fmt: skip
    return jobs


def _posting(rng: random.Random, job: SimpleNamespace, sentences: int) -> dict[str, Any]:
    text = " ".join(sentence(rng) for _ in range(sentences))
    return {
        "entityUrn": f"urn:li:jobPosting:{job.job_id}",
        "title": job.title,
        "companyDetails": {
            "name": job.firm,
            "urn": f"urn:li:company:{digits(rng, 7)}",
            "logo": {"artifacts": [{"width": w, "path": f"/media/{hexadecimal(rng, 24)}"} for w in (100, 200, 400)]},
        },
        "formattedLocation": f"{job.city} (Hybrid)",
        "applyMethod": {"companyApplyUrl": job.url, "easyApply": False},
        "salaryInsights": {
            "currency": "EUR",
            "compensationBreakdown": [{"min": job.salary_low, "max": job.salary_high, "period": "YEARLY"}],
        },
        "jobPoster": {"email": job.contact, "requisition": job.requisition, "trackingId": base64_blob(rng, 12)},
        "skills": [{"name": skill, "urn": f"urn:li:skill:{digits(rng, 5)}"} for skill in picked(rng, words.SKILLS, 6)],
        "description": {"text": text, "attributes": [{"start": 0, "length": 12, "type": "BOLD"}]},
    }


def _job_search(rng: random.Random, jobs: list[SimpleNamespace]) -> Page:
    *first, last = (_posting(rng, job, 88) for job in jobs)

    def page(prose: str) -> str:
        elements = [*first, {**last, "description": {"text": prose, "attributes": []}}]
        return json.dumps({"paging": {"count": len(jobs), "start": 0, "total": 214}, "elements": elements})

    return page


def _job_page(rng: random.Random, job: SimpleNamespace) -> Page:
    def card() -> str:
        ids = digits(rng, 10), digits(rng, 10), hexadecimal(rng, 16)
        return str(_TEXTS["card"].format(*ids, rng.choice(words.TITLES), sentence(rng)))

    cards = "".join(card() for _ in range(120))
    state = json.dumps({"included": [_posting(rng, job, 12) for _ in range(4)]})
    made = {"cards": cards, "state": state, "instance": hexadecimal(rng, 32), "guid": digits(rng, 7)}
    return lambda prose: _TEXTS["job_page"].format(job=job, prose=prose, **made)


def _mails(rng: random.Random) -> list[SimpleNamespace]:
    mails = []
    for firm, city in zip(picked(rng, words.FIRMS, 6), picked(rng, words.CITIES, 6), strict=True):
        name, local = person(rng)
        site = host(firm)
        mails.append(
            SimpleNamespace(
                message_id=hexadecimal(rng, 16), thread_id=hexadecimal(rng, 16), history_id=digits(rng, 9), sender=name,
                address=f"{local}@{site}", firm=firm, city=city, subject=f"{firm} in {city}: platform engineering",
                reference=f"REF-{digits(rng, 6)}", booking_url=f"https://{site}/book/{hexadecimal(rng, 10)}",
                form_url=f"https://{site}/forms/{digits(rng, 7)}/start",
            )
        )  # fmt: skip
    return mails


def _mail_search(rng: random.Random, mails: list[SimpleNamespace]) -> Page:
    first, second, third, *more, last = (
        {
            "thread_id": mail.thread_id, "from": mail.address, "history_id": mail.history_id, "id": mail.message_id,
            "name": mail.sender, "subject": mail.subject, "labels": ["INBOX", "UNREAD", f"Label_{digits(rng, 6)}"],
            "size": int(digits(rng, 5)), "snippet": " ".join(sentence(rng) for _ in range(9)),
        }
        for mail in mails
    )  # fmt: skip

    def page(prose: str) -> str:
        return json.dumps(
            {"messages": [first, third, second, *more, {**last, "snippet": prose}], "next": None}, indent=1
        )

    return page


def _mail(rng: random.Random, mail: SimpleNamespace, inline_image_bytes: int) -> Page:
    site = host(mail.firm)

    def tracked(text: str) -> str:
        return str(_TEXTS["link"].format(site, hexadecimal(rng, 60), text))

    texts = [_TEXTS["hello"].format(sentence(rng), sentence(rng), tracked("Read more")) for _ in range(26)]
    texts.insert(4, _TEXTS["asks"].format(mail=mail))
    made = {
        "rows": "\n".join(map(_TEXTS["row"].format, texts)), "image": base64_blob(rng, inline_image_bytes),
        "unsubscribe": tracked("Unsubscribe"), "preferences": tracked("Preferences"), "opened": hexadecimal(rng, 40),
    }  # fmt: skip
    return lambda prose: _TEXTS["mail"].format(mail=mail, site=site, prose=prose, **made)
