"""Synthesis: scenario files to transcripts, from a seed, the same to the byte everywhere."""

from ctxsim.synthesis.scenario import Scenario, is_scenario, load_scenario, scenario_names, synthesize

__all__ = ["Scenario", "is_scenario", "load_scenario", "scenario_names", "synthesize"]
