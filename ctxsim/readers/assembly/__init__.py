"""What formats share: putting a transcript together from messages, blocks, trees of sessions and logs of requests."""

from ctxsim.readers.assembly.assembly import Assembly, Part, left_out

__all__ = ["Assembly", "Part", "left_out"]
