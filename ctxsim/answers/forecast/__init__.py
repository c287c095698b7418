"""The next sessions: how they may come, drawn from those seen, and what is read off such draws."""
