"""OpenHands SDK."""
