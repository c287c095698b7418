"""What formats share: building transcripts from messages, blocks, session trees and request logs."""

from ctxsim.readers.assembly.assembly import Assembly, kept_and_new, left_out
from ctxsim.readers.assembly.blocks import IMAGE_TOKENS, Part, call_part, content_parts, text_and_media, text_of
from ctxsim.readers.assembly.numbers import dollars

__all__ = [
    "IMAGE_TOKENS", "Assembly", "Part", "call_part", "content_parts", "dollars", "kept_and_new", "left_out",
    "text_and_media", "text_of",
]  # fmt: skip
