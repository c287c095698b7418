"""Tool results of the job search. Job site: search results as nested JSON, and a posting as HTML with embedded state.
Mail: search hits as JSON, and messages as HTML with inline CSS, tracking links and quoted replies.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ctxsim.synthesis.words import (
    CITIES,
    FIRMS,
    SKILLS,
    TITLES,
    base64_blob,
    digits,
    hexadecimal,
    host,
    person,
    picked,
    sentence,
)


@dataclass(frozen=True)
class Job:
    """One posting and the facts in it that later calls may need."""

    job_id: str
    title: str
    firm: str
    city: str
    url: str
    contact: str
    requisition: str
    salary_low: str
    salary_high: str


def make_jobs(rng: random.Random) -> list[Job]:
    """Return eight postings of different firms."""
    jobs = []
    for firm, city in zip(picked(rng, FIRMS, 8), picked(rng, CITIES, 8), strict=True):
        job_id = digits(rng, 10)
        low, site = rng.randrange(62, 90) * 1000 + rng.randrange(1, 9) * 100, f"jobs.{host(firm)}"
        title, contact, requisition = rng.choice(TITLES), f"{person(rng)[1]}@{site}", f"REQ-{digits(rng, 6)}"
        salary = str(low), str(low + rng.randrange(9, 25) * 1000)
        jobs.append(Job(job_id, title, firm, city, f"https://{site}/view/{job_id}", contact, requisition, *salary))
    return jobs


def _posting(rng: random.Random, job: Job, words: str) -> dict[str, Any]:
    urn = f"urn:li:jobPosting:{job.job_id}"
    return {
        "entityUrn": urn,
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
        "skills": [{"name": skill, "urn": f"urn:li:skill:{digits(rng, 5)}"} for skill in picked(rng, SKILLS, 6)],
        "description": {"text": words, "attributes": [{"start": 0, "length": 12, "type": "BOLD"}]},
    }


def job_search_page(rng: random.Random, jobs: list[Job]) -> Callable[[str], str]:
    """Return search results as a function of the prose in the last posting's description."""
    postings = [_posting(rng, job, " ".join(sentence(rng) for _ in range(88))) for job in jobs]

    def page(prose: str) -> str:
        last = {**postings[-1], "description": {"text": prose, "attributes": []}}
        elements = [*postings[:-1], last]
        return json.dumps({"paging": {"count": len(jobs), "start": 0, "total": 214}, "elements": elements})

    return page


def job_page(rng: random.Random, job: Job) -> Callable[[str], str]:
    """Return one posting's page as a function of the prose in its description."""
    cards = "".join(
        f'<li class="jobs-similar__card" data-urn="urn:li:jobPosting:{digits(rng, 10)}">'
        f'<a href="/jobs/view/{digits(rng, 10)}?trk={hexadecimal(rng, 16)}"><span>{rng.choice(TITLES)}</span></a>'
        f"<p>{sentence(rng)}</p></li>\n"
        for _ in range(120)
    )
    state = json.dumps({"included": [_posting(rng, job, " ".join(sentence(rng) for _ in range(12))) for _ in range(4)]})
    start = (
        f'<!DOCTYPE html><html lang="en"><head><title>{job.title} | {job.firm}</title>\n'
        f'<meta name="clientPageInstanceId" content="{hexadecimal(rng, 32)}"></head><body>\n'
        f'<main><h1 class="top-card__title">{job.title}</h1><h2>{job.firm} · {job.city}</h2>\n'
        f'<code style="display:none" id="bpr-guid-{digits(rng, 7)}">{state}</code>\n'
        f'<ul class="jobs-similar">\n{cards}</ul>\n<div class="description__text">\n'
    )
    return lambda prose: f"{start}<p>{prose}</p>\n</div></main></body></html>"


@dataclass(frozen=True)
class Mail:
    """One message and the facts in it that later calls may need."""

    message_id: str
    thread_id: str
    history_id: str
    sender: str
    address: str
    firm: str
    city: str
    subject: str
    reference: str
    booking_url: str
    form_url: str


def make_mails(rng: random.Random) -> list[Mail]:
    """Return six messages from different firms."""
    mails = []
    for firm, city in zip(picked(rng, FIRMS, 6), picked(rng, CITIES, 6), strict=True):
        name, local = person(rng)
        site = host(firm)
        mails.append(
            Mail(
                message_id=hexadecimal(rng, 16), thread_id=hexadecimal(rng, 16), history_id=digits(rng, 9), sender=name,
                address=f"{local}@{site}", firm=firm, city=city, subject=f"{firm} in {city}: platform engineering",
                reference=f"REF-{digits(rng, 6)}", booking_url=f"https://{site}/book/{hexadecimal(rng, 10)}",
                form_url=f"https://{site}/forms/{digits(rng, 7)}/start",
            )
        )  # fmt: skip
    return mails


def search_hits(rng: random.Random, mails: list[Mail]) -> Callable[[str], str]:
    """Return a page of search hits as a function of the text of its last snippet."""
    hits = [
        {
            "thread_id": mail.thread_id, "from": mail.address, "history_id": mail.history_id, "id": mail.message_id,
            "name": mail.sender, "subject": mail.subject, "labels": ["INBOX", "UNREAD", f"Label_{digits(rng, 6)}"],
            "size": int(digits(rng, 5)), "snippet": " ".join(sentence(rng) for _ in range(9)),
        }
        for mail in mails
    ]  # fmt: skip

    def page(prose: str) -> str:
        last = {**hits[-1], "snippet": prose}
        return json.dumps({"messages": [hits[0], hits[2], hits[1], *hits[3:-1], last], "next": None}, indent=1)

    return page


_CELL = "font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:22px;color:#30363d;padding:12px 24px"


def html_mail(rng: random.Random, mail: Mail, inline_image_bytes: int) -> Callable[[str], str]:
    """Return an HTML message as a function of the prose in the reply that it quotes."""
    site = host(mail.firm)

    def tracked(text: str) -> str:
        return f'<a href="https://click.{site}/ls/{hexadecimal(rng, 60)}" style="color:#0b5fff">{text}</a>'

    def row(content: str) -> str:
        return f'<tr><td style="{_CELL}">{content}</td></tr>'

    rows = [row(f"Hello,<br><br>{sentence(rng)} {sentence(rng)} {tracked('Read more')}") for _ in range(26)]
    asks = (
        f'Please quote <b>{mail.reference}</b> and choose a time at <a href="{mail.booking_url}">this page</a>, '
        f'or fill in <a href="{mail.form_url}">the form</a> before the 28th.'
    )
    rows.insert(4, row(asks))
    image = base64_blob(rng, inline_image_bytes)
    start = (
        f"<html><head><style>.b{{margin:0;padding:0;background:#f6f8fa}}.c{{width:600px}}</style></head>\n"
        '<body class="b">'
        f"<p>From: {mail.sender} &lt;{mail.address}&gt;<br>Subject: {mail.subject}</p>\n"
        f'<table class="c" cellpadding="0" cellspacing="0" role="presentation">\n' + "\n".join(rows) + "\n</table>\n"
        f'<img alt="{mail.firm}" width="120" src="data:image/png;base64,{image}">\n'
    )
    end = (
        f"</div></blockquote>\n<p>{tracked('Unsubscribe')} | {tracked('Preferences')}</p>"
        f'<img src="https://open.{site}/o/{hexadecimal(rng, 40)}.gif" width="1" height="1"></body></html>'
    )
    quoted = f'<blockquote style="border-left:2px solid #ccc;margin-left:8px"><div>On Monday {mail.sender} wrote:<br>'
    return lambda prose: f"{start}{quoted}{prose}{end}"
