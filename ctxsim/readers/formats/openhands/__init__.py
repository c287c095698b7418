"""OpenHands: its event folders, and the completions that its SDK and its server log."""
