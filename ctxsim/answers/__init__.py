"""Answers: from results and recordings to what a person asked. Its rooms do not know each other."""
