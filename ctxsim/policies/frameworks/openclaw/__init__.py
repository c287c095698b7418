"""OpenClaw: its policy and its counter."""
