"""Safety: what must not leave a recording."""
