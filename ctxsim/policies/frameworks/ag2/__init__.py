"""AG2: its policies and its counter."""
