"""Changes that a user could have made, applied to the requests of a recorded session.

A change takes a session's requests, by class of tokens, and returns them as they would have been billed. Answers and
times stay as recorded. Removed tokens are taken from where they lay, in the order read, written, plain.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.facts import Response, Session

SHORT_S, LONG_S = 300.0, 3_600.0
"""Anthropic's two cache lifetimes, in seconds. https://docs.claude.com/en/docs/build-with-claude/prompt-caching"""


class Request(msgspec.Struct, gc=False):
    """A request's tokens by class, its output tokens, its model, how it was served, and its web searches. `gone` tokens
    stayed behind in an earlier session.

    It is the request of response number `at`, or an added one right before it; `billed` if that response is. The first
    `missed` of its tokens that weren't read had expired from the cache in a pause.
    """

    read: int
    write: int
    long: int
    plain: int
    output: int
    model: str
    at: int = 0
    billed: bool = True
    missed: int = 0
    gone: int = 0
    served: str = ""
    searches: int = 0

    @property
    def input(self) -> int:
        """Tokens of the whole request."""
        return self.read + self.write + self.plain

    def leave_out(self, start: int, tokens: int) -> None:
        """Remove `tokens` tokens from position `start` on."""
        self.missed -= max(0, min(start + tokens, self.read + self.missed) - max(start, self.read))
        first = start
        for name in ("read", "write", "plain"):
            held = getattr(self, name)
            taken = min(max(0, held - first), tokens)
            first = max(0, first - held)
            if name == "write" and held:
                self.long -= round(self.long * taken / held)
            setattr(self, name, held - taken)
            tokens -= taken

    def anew(self, cached: bool) -> None:
        """Move all tokens out of `read`: to `write` if `cached`, else, where no cache writes are billed, to `plain`."""
        tokens, self.missed = self.input, 0
        if cached:
            self.long = round(tokens * (self.long / self.write)) if self.write else 0
            self.read, self.write, self.plain = 0, tokens, 0
        else:
            self.read, self.plain = 0, tokens


Requests = list[Request]


class Effect(msgspec.Struct):
    """The effect of a change on billed requests: how often it applies, of how many chances, if its drawback names them.
    For changes that may lose results, `chances` counts the uses of older results and `lost` those that would be lost.
    """

    times: int = 0
    chances: int = 0
    lost: int = 0


Change = Callable[[Session, Requests, Effect], Requests]
"""Returns the changed requests of a session: first one for each response, in order, then any added ones."""


def as_recorded(session: Session, within: Sequence[bool] = ()) -> Requests:
    """Return a session's requests as recorded; `within` says which are billed, all if it is empty."""
    return [
        Request(one.read, one.write, one.long, one.plain, one.output, one.model, at, not within or within[at],
                one.missed if one.cause == 1 else 0, served=one.served, searches=one.searches)
        for at, one in enumerate(session.responses)
    ]  # fmt: skip


def _writes(session: Session) -> bool:
    return any(one.write for one in session.responses)


def new_session_per_task(session: Session, requests: Requests, effect: Effect) -> Requests:
    """Begin a new session at each turn from which on no earlier result was used again, if more tokens are left behind
    than have to be sent anew. The first request of the new session finds nothing in the cache.
    """
    gone, cached = 0, _writes(session)
    for one, request in zip(session.responses, requests, strict=False):
        if one.compacted:
            gone = 0
        behind, unused = one.input - one.head - one.fresh, one.turn and not one.crossing
        effect.chances += one.turn and request.billed
        effect.times += unused and request.billed
        begins = unused and behind > one.head + one.fresh + gone
        if begins:
            gone = behind
        if gone:
            _leave_behind(gone, one, request)
            request.gone = gone
        if begins:
            request.anew(cached)
    return requests


def _leave_behind(gone: int, one: Response, request: Request) -> None:
    """Remove up to `gone` tokens after the head; the newest tokens stay, whatever was cut before."""
    request.leave_out(one.head, min(gone, max(0, request.input - one.head - one.fresh)))


def compacted_at(limit: int, summary: int, session: Session, requests: Requests, effect: Effect) -> Requests:
    """Compact before each request of more than `limit` tokens: an added request reads the conversation and outputs
    `summary` tokens, which replace it. The request after it finds nothing in the cache.
    """
    gone, before, cached, more = 0, 0, _writes(session), []
    left = _needs(session, requests)
    effect.chances += left
    for one, request in zip(session.responses, requests, strict=False):
        if one.compacted or request.gone != before:
            # The recorded agent compacted here, or a new session begins.
            gone, before = 0, request.gone
        _leave_behind(gone, one, request)
        over = request.input - one.head - summary
        if request.input > limit and over > summary:
            more.append(msgspec.structs.replace(request, output=summary, searches=0))
            gone += over
            request.anew(cached)
            request.leave_out(one.head, over)
            # Uses that aren't billed can't be lost.
            effect.lost += min(one.crossing, left)
        left -= one.needs * request.billed
    return [*requests, *more]


def _needs(session: Session, requests: Requests) -> int:
    return sum(one.needs for one, request in zip(session.responses, requests, strict=False) if request.billed)


def results_cut(most: int, tool: str, session: Session, requests: Requests, effect: Effect) -> Requests:
    """Cut each result of a tool, '' for all tools, to `most` tokens when it joins the conversation."""
    effect.chances += _needs(session, requests)
    for large in session.large:
        name = session.parts[large.part].removeprefix(facts.RESULTS)
        over = large.tokens - most
        if over <= 0 or (tool and name != tool):
            continue
        held = range(large.first, min(large.last, len(session.responses)))
        effect.lost += large.needs * any(requests[at].billed for at in held)
        for at in held:
            one, request = session.responses[at], requests[at]
            fresh = at == large.first
            start = max(one.head, one.input - one.fresh) if fresh else one.head
            request.leave_out(min(start, max(0, request.input - over)), over)
    return requests


def without_server(server: str, session: Session, requests: Requests, effect: Effect) -> Requests:
    """Leave an MCP server's tools out of the head of sessions that called none; `times` counts the other sessions."""
    effect.chances += 1
    if any(facts.server_of(tool) == server for tool in session.uses):
        effect.times += 1
        return requests
    for one, request in zip(session.responses, requests, strict=False):
        for at in range(0, len(one.parts), 4):
            if session.parts[one.parts[at]] == facts.SERVER + server:
                request.leave_out(0, sum(one.parts[at + 1 : at + 4]))
    return requests


def head_shorter(tokens: Mapping[str, int], session: Session, requests: Requests, effect: Effect) -> Requests:
    """Remove `tokens`, by session, from the head of every request, as a shorter memory file would."""
    cut = tokens.get(session.name, 0)
    for one, request in zip(session.responses, requests, strict=False):
        request.leave_out(0, min(cut, one.head))
    return requests


def other_model(
    now: str, then: str, scale: float, children: bool, session: Session, requests: Requests, effect: Effect
) -> Requests:
    """Send the requests to model `now`, or with `children` only the sub-agents' ones, to model `then`, which has
    `scale` tokens for each token of `now`.
    """
    if children and not session.parent:
        return requests
    for request in requests:
        if request.model == now:
            request.model = then
            for name in ("read", "write", "long", "plain", "output"):
                setattr(request, name, round(getattr(request, name) * scale))
    return requests


def read_after(lives_s: float, session: Session, requests: Requests, effect: Effect) -> Requests:
    """Let the cache live for `lives_s` seconds: what expired in pauses of up to that is read."""
    for request in requests:
        if request.missed and (session.responses[request.at].pause_s or 0.0) <= lives_s:
            effect.times += request.billed
            moved, request.missed = min(request.missed, request.write or request.plain), 0
            request.read += moved
            if request.write:
                request.long -= round(request.long * moved / request.write)
                request.write -= moved
            else:
                request.plain -= moved
    return requests


def hour_long_cache(session: Session, requests: Requests, effect: Effect) -> Requests:
    """Write all cache entries for an hour: they are still read after pauses of up to an hour."""
    if any(one.long for one in session.responses) or not _writes(session):
        return requests
    for request in read_after(LONG_S, session, requests, effect):
        request.long = request.write
    return requests


def five_minute_cache(session: Session, requests: Requests, effect: Effect) -> Requests:
    """Write all cache entries for five minutes: nothing is read after a longer pause."""
    if not any(one.long for one in session.responses):
        return requests
    for one, request in zip(session.responses, requests, strict=False):
        if SHORT_S < (one.pause_s or 0.0) <= LONG_S and request.read:
            effect.times += request.billed
            request.write += request.read
            request.read = 0
    for request in requests:
        request.long = 0
    return requests
