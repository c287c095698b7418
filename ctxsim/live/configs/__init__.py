"""Configuration files of agents: sets one key and keeps all other text; writes a file and restores it."""
