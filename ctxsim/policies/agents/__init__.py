"""What coding agents and model vendors do with a full context, by name: one file per agent, defaults as shipped.

A rule is re-implemented from a description of it, defects included; `docs/agents.md` says how far each was compared.
"""
