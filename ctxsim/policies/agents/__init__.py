"""Compaction rules of coding agents and model vendors: one folder per agent, with the defaults that it ships.

A rule is re-implemented from a description of it, defects included. `docs/agents.md` says how far each was compared.
"""
