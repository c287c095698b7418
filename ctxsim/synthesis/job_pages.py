"""Pages of a job site: a search result with nested JSON, and one posting as markup with embedded state."""

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
        low = rng.randrange(62, 90) * 1000 + rng.randrange(1, 9) * 100
        jobs.append(
            Job(
                job_id, rng.choice(TITLES), firm, city, f"https://jobs.{host(firm)}/view/{job_id}",
                f"{person(rng)[1]}@jobs.{host(firm)}", f"REQ-{digits(rng, 6)}", str(low),
                str(low + rng.randrange(9, 25) * 1000),
            )
        )  # fmt: skip
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
