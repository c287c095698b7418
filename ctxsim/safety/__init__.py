"""Safety: redaction of private data, trust in files, and processes that run users' code."""
