"""One driven run: the conversation, the agent, its folders and limits, and the outcome."""

from pathlib import Path

import msgspec

from ctxsim.live.agent import Agent
from ctxsim.live.faults import Faults
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

HALF = 0.5
"""The share of its window at which Gemini CLI compresses by default (its compressionThreshold)."""

GEMINI_WINDOW = 1_048_576
"""The window, in tokens, that Gemini CLI assumes for every model."""


LOG, OUTCOME, SAID = "requests.jsonl", "outcome.json", "output.txt"
"""Names of a run's files: its requests, how it went, and what the agent printed."""


class Plan(msgspec.Struct, frozen=True):
    """One driven run, ready to be run in a process of its own.

    `work` is its folder, which holds `home`, `project` and the files LOG, OUTCOME and SAID. `path` is the agent's
    search path, and `limit_s` the run's time limit in seconds.
    """

    transcript: Transcript
    provider: Provider
    agent: Agent
    faults: Faults
    work: str
    path: str
    limit_s: float
    output: int = 4_096
    model: str = "mock"

    @property
    def home(self) -> str:
        """The path of the agent's home folder."""
        return f"{self.work}/home"

    @property
    def project(self) -> str:
        """The path of the agent's working folder, which holds the results as files."""
        return f"{self.work}/project"

    def fill(self, text: str, url: str, prompt: str = "") -> str:
        """Return a template's text with all placeholders replaced."""
        window = self.provider.window
        values = {
            "url": url, "window": str(window), "output": str(self.output), "home": self.home, "folder": self.project,
            "share": f"{HALF * window / GEMINI_WINDOW:.6f}", "prompt": prompt, "model": self.model,
        }  # fmt: skip
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def environment(self, url: str, prompt: str = "") -> dict[str, str]:
        """Return all environment variables that the agent gets, and make its home and folder for temporary files."""
        own = {
            "HOME": self.home, "PATH": self.path, "TERM": "dumb", "LANG": "C.UTF-8", "TMPDIR": f"{self.home}/tmp",
            "XDG_CONFIG_HOME": f"{self.home}/.config", "XDG_DATA_HOME": f"{self.home}/.local/share",
            "XDG_CACHE_HOME": f"{self.home}/.cache", "XDG_STATE_HOME": f"{self.home}/.local/state", "CTXSIM_URL": url,
        }  # fmt: skip
        own |= {name: self.fill(value, url, prompt) for name, value in self.agent.env.items()}
        for folder in (self.home, own["TMPDIR"]):
            Path(folder).mkdir(parents=True, exist_ok=True)
        return own


class Outcome(msgspec.Struct, frozen=True):
    """How a driven run went: seconds, each prompt's exit status (None: ended by the limit), the steps played, and what
    of this machine the agent was cut off from: network, files, sockets.
    """

    seconds: float
    statuses: tuple[int | None, ...]
    enclosed: tuple[str, ...]
    steps: int
