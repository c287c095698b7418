"""Answers to users' questions, from results and recordings. Its rooms import no other one but `forecast`."""
