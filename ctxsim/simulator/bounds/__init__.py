"""Bounds: the least that any policy can reach, and about what a policy that knows the future does reach.

`frontier` has the least tokens and dollars at each survival. `schedule` computes when each dead result is best cleared
under cache prices, in a model of the cache that other times can beat. docs/bounds.md.
"""
