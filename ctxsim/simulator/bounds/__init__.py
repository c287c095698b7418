"""Bounds: what no policy without knowledge of the future can beat, and what no policy at all can beat.

`schedule` computes when each dead result is best cleared under cache prices, `frontier` the least tokens and dollars
at each survival. docs/bounds.md.
"""
