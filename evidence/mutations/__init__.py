"""Mutation tests: small changes of the code, each tried against the tests of its own room."""
