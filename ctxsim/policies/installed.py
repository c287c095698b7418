"""Compares the version of a framework or an agent with the one that its policies were compared with."""

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

from ctxsim.plugins import labels
from ctxsim.policies import agent_of, registered_policies
from ctxsim.policies.agents.versions import dotted, newest_of, numbers_of


def other_versions(label: str) -> Iterator[str]:
    """Yield a line for each installed package whose version isn't that which a label's policies were compared with.

    For a framework's own class, the versions are those of the built-in policies in its folder.
    """
    known = registered_policies()
    for link in labels.chain(label):
        name = link.partition(":")[0]
        folder = f"ctxsim.policies.frameworks.{name.replace('-', '_')}."
        of_folder = [cls for cls in known.values() if cls.__module__.startswith(folder)]
        classes = [known[name]] if name in known else of_folder
        pairs = (pair.split() for cls in classes if cls.family == "frameworks" for pair in cls.version.split(", "))
        for package, compared in dict.fromkeys(map(tuple, pairs)):
            try:
                here = version(package)
            except PackageNotFoundError:
                continue
            if here != compared:
                yield f"{name} was compared with {package} {compared}; {here} is installed"


def compared_with(agent: str) -> str:
    """Return the version of an agent that its policy was compared with; '' where that is unknown or a commit."""
    known = registered_policies().get(agent)
    return known.version if known and "." in known.version and dotted(known.version) == known.version else ""


def newer_versions(recorded: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each agent with a recorded version newer than the one that its policy was compared with.

    `recorded` are pairs of format and version. The policy then uses its newest rules.
    """
    newest: dict[str, str] = {}
    for format, stated in recorded:
        agent = agent_of(format)
        if agent and dotted(stated):
            newest[agent] = newest_of((stated, newest.get(agent, "")))
    for agent, recording in newest.items():
        compared = compared_with(agent)
        if compared and numbers_of(recording) > numbers_of(compared):
            yield f"{agent} {recording} is newer than {compared}, with which its policy was compared: newest rules used"
