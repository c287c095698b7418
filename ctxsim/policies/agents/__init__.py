"""What coding agents and model vendors do with a full context, by name: one file per agent, defaults as shipped.

A rule is re-implemented from a description of it, defects included; `docs/agents.md` says how far each was compared.
"""

from ctxsim.plugins import FOLDERS, folders


def agent_of(format: str) -> str:
    """Return the agent that writes logs of a format: one whose policy we have; '' for any other."""
    for name, (_, place) in folders(FOLDERS[0]).items():
        if (place / "policy.py").exists() and (
            format == name or format.startswith(f"{name}-") or (format and name.startswith(f"{format}-"))
        ):
            return name
    return ""
