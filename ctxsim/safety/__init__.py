"""Safety: what must not leave a recording, what a file may ask for, and processes that others' code runs in."""
