"""What one driven run is: the conversation, the agent, where it works, and what holds it in."""

import msgspec

from ctxsim.live.agent import Agent
from ctxsim.live.faults import Faults
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

HALF = 0.5
"""The share of its window at which Gemini CLI compresses, unless told otherwise (its compressionThreshold)."""

GEMINI_WINDOW = 1_048_576
"""The window that Gemini CLI believes in, whatever the model."""


class Plan(msgspec.Struct, frozen=True):
    """One driven run, ready to be made in a process of its own.

    `work` is its folder: `home`, `project` and the log are in it. `path` is what the agent finds programs by; `limit_s`
    ends it. A prompt is given `prompts` times at once.
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
    prompts: int = 1

    @property
    def home(self) -> str:
        """The agent's own home."""
        return f"{self.work}/home"

    @property
    def project(self) -> str:
        """Where it works, and where the results lie."""
        return f"{self.work}/project"

    @property
    def log(self) -> str:
        """Its requests."""
        return f"{self.work}/requests.jsonl"

    @property
    def outcome(self) -> str:
        """What came of it."""
        return f"{self.work}/outcome.json"

    def fill(self, text: str, url: str, prompt: str = "") -> str:
        """Return a template's text with everything in its place."""
        window = self.provider.window
        values = {
            "url": url, "window": str(window), "output": str(self.output), "home": self.home, "folder": self.project,
            "share": f"{HALF * window / GEMINI_WINDOW:.6f}", "prompt": prompt, "model": self.model,
        }  # fmt: skip
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


class Outcome(msgspec.Struct, frozen=True):
    """How a driven run went: seconds, each prompt's exit status (None: ended by the limit), and what was held from it:
    the network, the files, the sockets of this machine.
    """

    seconds: float
    statuses: tuple[int | None, ...]
    enclosed: tuple[str, ...]
    steps: int
