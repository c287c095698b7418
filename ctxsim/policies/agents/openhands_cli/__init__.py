"""OpenHands in a terminal: its agent with another condenser than the SDK's default."""
