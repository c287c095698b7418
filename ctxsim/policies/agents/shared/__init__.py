"""Functions that several agents' policies share."""
