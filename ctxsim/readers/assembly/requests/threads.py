"""Groups requests, each recorded whole, into conversations: finds the earlier request that each one continues.

That is the longest earlier request whose messages a request begins with, if its reply comes next. If not, and the
earlier one is the last of its thread, the request is a retry of it. Agents that shorten or rewrite their history break
this rule: their request continues the latest one in its context whose reply it still holds. A request that fits nowhere
starts a thread.

A thread is the chain of requests that leads to its last one. Requests beside the chain were retried or rewound, but a
branch that alternates with the chain is a thread of its own, and so is one that another context took over.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

import msgspec


class Request(msgspec.Struct, frozen=True):
    """One request: the keys of its messages, and the key of its reply.

    A reply is recognised in a changed history by its `marks`; `places` has the last place of each mark in this request.
    Requests of different agents have different `context`. A retry has the same `head`. `after_compaction` is true if
    the source says that the history was compacted since the last request in this context.
    """

    keys: Sequence[Hashable]
    reply: Hashable
    places: Mapping[Hashable, int]
    marks: Sequence[Hashable]
    context: str = ""
    head: Hashable = None
    after_compaction: bool = False


Repeats = Callable[[int, int, int], bool]
"""Callback `(earlier, number, place)`: whether the message at `place` is the reply of `earlier`, in another form."""


class Step(msgspec.Struct, frozen=True):
    """One request of a thread: its number, and how many of its messages are not new.

    `whole` is false if the messages before the new ones are not the unchanged history.
    """

    number: int
    known: int
    whole: bool


class Thread(msgspec.Struct, frozen=True):
    """One conversation: its requests, and the numbers of abandoned ones, which it doesn't continue."""

    steps: Sequence[Step]
    abandoned: Sequence[int]

    @property
    def first(self) -> int:
        """The number of its first request, abandoned or not."""
        return min([self.steps[0].number, *self.abandoned])


def threads(requests: Sequence[Request], loosely: Repeats = lambda *_: False) -> list[Thread]:
    """Return the threads in order of their first requests; `loosely` finds replies that return in another form."""
    links = _Links(loosely)
    for request in requests:
        links.add(request)
    families: dict[int, list[int]] = {}
    for number, root in enumerate(links.roots):
        families.setdefault(root, []).append(number)
    found = [thread for family in families.values() for thread in _untangled(family, requests, links.steps)]
    return sorted(found, key=lambda thread: thread.first)


def _untangled(family: Sequence[int], requests: Sequence[Request], links: Sequence[Step | None]) -> Iterator[Thread]:
    remaining = dict.fromkeys(family)
    while remaining:
        context = requests[next(iter(remaining))].context
        last = max(number for number in remaining if requests[number].context == context)
        steps = _chain(last, links, remaining)
        contexts = {requests[step.number].context for step in steps}
        on = {step.number for step in steps}
        off = [number for number in remaining if number not in on and requests[number].context in contexts]
        # A branch that alternates with the chain was not abandoned for it.
        branches = [one for one in _branches(off, links) if not any(one[0] < number < one[-1] for number in on)]
        left = sorted(number for branch in branches for number in branch)
        for number in (*on, *left):
            del remaining[number]
        yield Thread(steps, left)


def _chain(last: int, links: Sequence[Step | None], remaining: Mapping[int, None]) -> list[Step]:
    """Return the chain up to request `last`, from the first one that no other thread has: all its messages are new."""
    chain: list[Step] = []
    number: int | None = last
    while number is not None and number in remaining:
        link = links[number]
        goes_on = link is not None and link.number in remaining
        chain.append(Step(number, link.known, link.whole) if goes_on and link else Step(number, 0, True))
        number = link.number if link else None
    return chain[::-1]


def _branches(off: Iterable[int], links: Sequence[Step | None]) -> Iterable[list[int]]:
    """Return the requests of each branch off a thread, in order."""
    branches: dict[int, list[int]] = {}
    tops: dict[int, int] = {}
    for number in off:
        link = links[number]
        tops[number] = tops.get(link.number, number) if link else number
        branches.setdefault(tops[number], []).append(number)
    return branches.values()


class _Links:
    """By request: in `steps` the request that it continues, or None; in `roots` the first request of its family."""

    def __init__(self, loosely: Repeats) -> None:
        self.steps: list[Step | None] = []
        self.roots: list[int] = []
        self._loosely = loosely
        self._requests: list[Request] = []
        self._wholes: dict[tuple[str | None, int], list[int]] = {}
        self._latest: dict[tuple[int, str], int] = {}
        self._replies: dict[tuple[str, Hashable], int] = {}
        self._marked: dict[tuple[str, Hashable], int] = {}
        self._messages: dict[tuple[str, Hashable], int] = {}

    def add(self, request: Request) -> None:
        number = len(self.steps)
        self._requests.append(request)
        prefixes = list(accumulate(request.keys, lambda before, key: hash((before, key)), initial=0))
        link, again = self._longest(request, prefixes)
        if again is not None:
            link, root = self.steps[again], self.roots[again]
        else:
            link = self._shortened(request, link) or link
            root = number if link is None else self.roots[link.number]
        self.steps.append(link)
        self.roots.append(root)
        for context in (None, request.context):
            self._wholes.setdefault((context, prefixes[-1]), []).append(number)
        self._latest[root, request.context] = number
        self._replies[request.context, request.reply] = number
        self._marked.update(((request.context, mark), number) for mark in request.marks)
        self._messages.update(((request.context, key), number) for key in request.keys)

    def _longest(self, request: Request, prefixes: Sequence[int]) -> tuple[Step | None, int | None]:
        """Return the step that a request continues by the rule, or the number of the one it retries, or neither."""
        for length in range(len(request.keys), -1, -1):
            every = self._wholes.get((None, prefixes[length]), [])
            own = self._wholes.get((request.context, prefixes[length]), [])
            # Of equal requests, the latest in the request's own context is tried first.
            others = (one for one in reversed(every) if self._requests[one].context != request.context)
            for candidate in chain(reversed(own), others) if length < len(request.keys) else ():
                if self._is_answer(candidate, request, length):
                    return Step(candidate, length + 1, True), None
            for candidate in reversed(own):
                if self._is_made_again(candidate, request):
                    return None, candidate
        return None, None

    def _is_answer(self, candidate: int, request: Request, place: int) -> bool:
        """Return whether a message is a candidate's reply; loosely, only if no later reply is exactly that message."""
        key = request.keys[place]
        if key == self._requests[candidate].reply:
            return True
        later = self._replies.get((request.context, key), -1) > candidate
        return not later and self._loosely(candidate, len(self.steps), place)

    def _is_made_again(self, candidate: int, request: Request) -> bool:
        """Return whether no request came between two. After a compaction, an equal request needn't be a retry."""
        alike = self._requests[candidate].head == request.head and not request.after_compaction
        return alike and self._latest[self.roots[candidate], request.context] == candidate

    def _shortened(self, request: Request, link: Step | None) -> Step | None:
        """Return the request whose history was shortened to make this one, and where the new messages begin; or None.

        If a later reply than `link`'s stands behind the unchanged messages, the history was changed in its middle.
        """
        context = request.context
        known, past = (link.known, link.number) if link else (0, -1)
        places = [(mark, place) for mark, place in request.places.items() if place >= known]
        held = [(self._marked[context, mark], place) for mark, place in places if (context, mark) in self._marked]
        if held and max(held)[0] > past:
            latest, place = max(held)
            return Step(latest, place + 1, False)
        if request.after_compaction and not known:
            seen = [place for place, key in enumerate(request.keys) if (context, key) in self._messages]
            if seen:
                latest = max(self._messages[context, request.keys[place]] for place in seen)
                return Step(latest, seen[-1] + 1, False)
        return None
