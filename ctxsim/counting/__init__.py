"""Counting: real tokenizers, and estimators that guess."""
