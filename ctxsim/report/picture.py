"""What all pictures of a run share: its figures, the advice, the policies that are drawn, and their colours."""

from collections.abc import Sequence

import msgspec

from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.baseline import advise
from ctxsim.answers.advice.pooled import Pooled, figures_of
from ctxsim.answers.advice.settings import label_in
from ctxsim.answers.advice.verdict import verdict
from ctxsim.errors import many
from ctxsim.plugins.labels import BOUND
from ctxsim.report.style import COLORS, OTHER_COLOR, colors_of, short
from ctxsim.results import Run
from ctxsim.results.run_info import RECORDED, is_nothing

CHOSEN = "named first in the answer"
"""What the mark of a policy or setting means, in words."""


def meaning(chosen: str) -> str:
    """Return what the mark of the chosen policy means: an answer that says to change nothing doesn't name keep-all."""
    return "no change" if is_nothing(chosen) else CHOSEN


def title_of(run: Run) -> str:
    """Return a run's title without the paths of recordings, because they name folders and people."""
    return RECORDED if run.info.title.startswith(f"{RECORDED} in ") else run.info.title


class Picture(msgspec.Struct, frozen=True):
    """A run as pictures show it. `labels` are drawn; `colors` has the number of a colour for at most seven of them."""

    run: Run
    pooled: Pooled
    advice: Advice | None
    labels: tuple[str, ...]
    colors: dict[str, int]

    @property
    def chosen(self) -> str | None:
        """The policy that the answer names first: the advised one, or the best of those tried. None without advice."""
        return self.advice.take.policy if self.advice else None

    def color(self, label: str) -> str:
        """Return a policy's colour: grey for bounds, and beyond the seventh."""
        return COLORS[self.colors[label]] if label in self.colors else OTHER_COLOR

    def bound(self, label: str) -> bool:
        return label in self.run.info.bounds

    def name(self, label: str) -> str:
        """Return a policy's name for use beside a line or in a title."""
        return short(self.run.info.shown.get(label, label))

    def marked(self, label: str) -> str:
        """Return the name beside a line, with a mark at the chosen policy and at bounds."""
        return ("▶ " if label == self.chosen else "") + self.name(label) + (BOUND if self.bound(label) else "")

    @property
    def mark(self) -> str:
        """The explanation of the mark at the chosen policy's name; '' if none is chosen, or if it isn't drawn."""
        return f"▶: {meaning(self.chosen)}" if self.chosen in self.labels else ""

    @property
    def headline(self) -> str:
        """The answer of the run in one sentence: the first line of its verdict."""
        return verdict(self.advice, self.run.info.shown)[0]

    @property
    def title(self) -> str:
        """The run's title, as in `title_of`."""
        return title_of(self.run)

    @property
    def many(self) -> str:
        """The number of transcripts behind the figures, in words."""
        count = self.pooled.transcripts
        stopped = "" if self.run.info.complete else " of a stopped run"
        return f"{many(count, 'transcript(s)')}{stopped}"


def picture(run: Run, goal: str = "dollars", policies: Sequence[str] = ()) -> Picture:
    """Return a run to draw: all policies, or only the given ones and bounds. Raises CtxsimError for an unknown one."""
    advice = advise(run, goal)
    policies = [label_in(run, label) for label in policies]
    bounds = run.info.bounds
    labels = tuple(label for label in run.labels if not policies or label in policies or label in bounds)
    # First in colour are those that the advice names.
    named = [advice.take, advice.losing_less, advice.cheaper] if advice else []
    first = [*(one.policy for one in named if one), *(advice.alike if advice else ())]
    others = [label for label in labels if label not in bounds]
    colors = colors_of(others, [label for label in first if label in others])
    return Picture(run, figures_of(run), advice, labels, colors)
