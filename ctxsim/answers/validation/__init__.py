"""Validation: our counts, prices, cache rules and decisions against what was recorded."""
