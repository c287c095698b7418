"""Configuration files of agents: one key is set in a text that keeps all else, and a file is written and restored."""
