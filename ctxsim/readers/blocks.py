"""Content that is a string, a list of blocks, or nothing: its text, and its non-text parts by the vendor's rule."""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Mapping
from io import BytesIO
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

# Tuples: a type that is a list would not hash.
_TEXT_TYPES = ("text", "input_text", "output_text")
_HEADER_CHARS = 1 << 16
_IMAGE_TYPES = ("image", "image_url", "input_image")


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
            media.append(Media("image", _tokens_of_image(block, image_tokens)))
        elif block.get("type") in ("document", "file", "input_file", "audio", "input_audio", "video"):
            media.append(Media(str(block["type"]), image_tokens))
        else:
            texts.append(compact_json(block))
    return "\n".join(texts), tuple(media)


def _tokens_of_image(block: dict[str, Any], unknown: int) -> int:
    """Tokens by the rule of the vendor whose form the block has, if the image is in it; else `unknown`."""
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        size = _image_size(source["data"])
        return _anthropic_image(*size) if size else unknown
    link = block.get("image_url")
    url = link.get("url") if isinstance(link, dict) else link
    if isinstance(url, str) and url.startswith("data:"):
        size = _image_size(url.partition(",")[2])
        return _openai_image(*size) if size else unknown
    return unknown


def _image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels of a base64 image, from its first bytes; None if they don't tell."""
    # Imaging takes long to import, and few transcripts have images.
    from PIL import Image

    try:
        with Image.open(BytesIO(b64decode(data[:_HEADER_CHARS]))) as image:
            width, height = image.size
            return int(width), int(height)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _anthropic_image(width: int, height: int) -> int:
    """width * height / 750 after fitting into 1,568 pixels, at most 1,600 (Anthropic documentation, Vision)."""
    scale = min(1.0, 1_568 / max(width, height))
    return min(1_600, max(1, round(width * scale * height * scale / 750)))


def _openai_image(width: int, height: int) -> int:
    """85 + 170 per tile of 512 pixels, fitted into 2,048 and then to 768 on the short side (OpenAI, Images)."""
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return 85 + 170 * tiles
