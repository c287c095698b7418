"""OpenHands in a terminal."""
