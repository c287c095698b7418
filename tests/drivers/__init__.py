"""Frameworks' own code over a conversation: what each would send at each call. Nothing of ctxsim is imported."""
