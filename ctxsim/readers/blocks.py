"""Content that is a string, a list of blocks, or nothing: its text, and its non-text parts by the vendor's rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.source import compact_json
from ctxsim.transcript import Media

IMAGE_TOKENS: Mapping[str, int] = {
    # Tokens of one image whose size the recording doesn't tell.
    # Anthropic, "Vision": width * height / 750, resized to at most about 1,600 tokens.
    "anthropic": 1_600,
    # OpenAI, "Images and vision": high detail, 85 + 170 for each of the 4 tiles of a 1024 x 1024 image.
    "openai": 765,
    # Gemini, "Image understanding": 258 for each 768 x 768 tile.
    "gemini": 258,
}

_TEXT_TYPES = {"text", "input_text", "output_text"}
_IMAGE_TYPES = {"image", "image_url", "input_image"}


def text_and_media(content: Any, image_tokens: int) -> tuple[str, tuple[Media, ...]]:
    """Return the text of polymorphic content and its non-text parts.

    Text blocks are joined by line feeds. Blocks of unknown type are kept as their JSON text: what a model saw must not
    vanish.
    """
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        return compact_json(content), ()
    texts: list[str] = []
    media: list[Media] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, dict):
            texts.append(compact_json(block))
        elif isinstance(block.get("text"), str) and block.get("type", "text") in _TEXT_TYPES:
            texts.append(block["text"])
        elif block.get("type") in _IMAGE_TYPES:
            media.append(Media("image", image_tokens))
        elif block.get("type") in ("document", "file", "input_file", "audio", "input_audio", "video"):
            media.append(Media(str(block["type"]), image_tokens))
        else:
            texts.append(compact_json(block))
    return "\n".join(texts), tuple(media)
