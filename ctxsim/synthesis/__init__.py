"""Synthesis of transcripts from scenario files and a seed, with the same bytes on every machine."""

from ctxsim.synthesis.scenario import Scenario, is_scenario, load_scenario, scenario_names, synthesize

__all__ = ["Scenario", "is_scenario", "load_scenario", "scenario_names", "synthesize"]
