"""Recorded compactions: what they kept and lost, and what others would have."""
