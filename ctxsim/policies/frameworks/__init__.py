"""Policies of agent frameworks, a file per framework: their rules restated, defects kept."""
