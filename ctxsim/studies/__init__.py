"""Studies: recordings against what providers recorded, and the claims of the documents behind ctxsim."""
