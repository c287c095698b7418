"""The documented case: an assistant reads mail and job pages until the seventh call needs 53K input tokens.

The growth (2K, 12K after gmail_read, 28K after linkedin_jobs, 53K) is that of document 001; all text is our own.
"""

import json
import random
from collections.abc import Callable
from typing import Annotated

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis import job_pages
from ctxsim.synthesis.job_pages import Job, Mail
from ctxsim.synthesis.scenario import Session, schema
from ctxsim.synthesis.words import digits, fit, hexadecimal, prose
from ctxsim.transcript import Head, Transcript

TOOLS = (
    ("gmail_search", "Search the mailbox. Returns message ids, senders and subjects.", {"query": "string"}),
    ("gmail_read", "Read one message with its full HTML body.", {"message_id": "string"}),
    ("label_message", "Put a label on a message.", {"message_id": "string", "label": "string"}),
    ("linkedin_jobs", "Search job postings.", {"keywords": "string", "location": "string"}),
    ("linkedin_job_page", "Fetch the page of one job posting.", {"job_id": "string"}),
)


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """`input_tokens` of the seven calls, counted with head, without framing."""

    input_tokens: Annotated[list[int], msgspec.Meta(min_length=7, max_length=7)]


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the seven-call transcript."""
    mails, jobs = job_pages.make_mails(rng), job_pages.make_jobs(rng)
    task = (
        "I am looking for a new job. Look through my mail for recruiters who wrote this month, read what they say, "
        "find matching postings, and tell me which two I should answer first and how."
    )
    tools = tuple(schema(*tool, tool[2]) for tool in TOOLS)
    words = prose(rng, 8000)
    fixed = sum(map(counter.text, (*tools, task)))
    system = fit(_system_prompt, words, wanted.input_tokens[0] - fixed, counter.text)
    pages = _pages(rng, mails, jobs)
    responses = _responses(mails, jobs)

    made = Session()
    made.user(task)
    total = wanted.input_tokens[0]
    for number, (said, tool, arguments) in enumerate(responses[:-1]):
        start = len(made.items)
        made.respond(said, tool, json.dumps(arguments), call_id=f"call_{number + 1}")
        total += sum(map(counter.item, made.items[start:]))
        text = fit(pages[number], words, wanted.input_tokens[number + 1] - total, counter.text)
        total += counter.text(text)
        made.result(text)
    made.respond(responses[-1][0])
    return made.transcript(Head(system, tools))


def _system_prompt(notes: str) -> str:
    return (
        "You are a careful assistant with access to the user's mailbox and to a job site. Use the tools; never invent "
        "addresses, links, numbers or salaries. Quote identifiers exactly as the tools return them.\n\n"
        f"Background that the user shared earlier:\n{notes}\n\nAnswer in plain English."
    )


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


def _responses(mails: list[Mail], jobs: list[Job]) -> list[tuple[str, str, dict[str, str]]]:
    """The seven responses, each a text, a tool and its arguments.

    Calls 2 to 6 use a few facts; call 7 is the first to use the many it needs.
    """
    first, second, third, *_ = mails
    best, close, other, third_job, *_ = jobs
    answer = f"""Answer these two first.

1. {best.title} at {best.firm}, posting {best.job_id} ({best.url}), {best.salary_low} to {best.salary_high} EUR a year.
   Write to {best.contact}; they hire under {best.requisition}.
2. {other.title} at {other.firm}, posting {other.job_id} ({other.url}), {other.salary_low} to {other.salary_high} EUR.
   Write to {other.contact}.

{first.sender} ({first.address}) asks you to pick a slot at {first.booking_url} and to quote {first.reference}; the form
is at {first.form_url}. {third.sender} ({third.address}, thread {third.thread_id}) can wait, and so can posting
{third_job.job_id}. Your first message from them is {first.thread_id}, received under {first.history_id}."""
    return [
        ("I will look for recruiter mail first.", "gmail_search", {"query": "recruiter newer_than:30d"}),
        ("", "gmail_read", {"message_id": first.message_id}),
        (f"{first.firm} wrote in detail. I mark it.", "label_message",
         {"message_id": first.message_id, "label": "jobs"}),
        ("", "linkedin_jobs", {"keywords": "platform engineer", "location": first.city}),
        (f"Posting {close.job_id} is close to what you want.", "linkedin_job_page", {"job_id": close.job_id}),
        ("One more mail may match it.", "gmail_read", {"message_id": second.message_id}),
        (answer, "", {}),
    ]  # fmt: skip
