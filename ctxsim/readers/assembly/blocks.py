"""Parts of messages, and the text and media of message content: a string, a list of blocks, or None.

An image's tokens are computed by its vendor's formula, from the size in pixels that its first bytes state.
"""

import math
from base64 import b64decode
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import msgspec

from ctxsim.readers.source import compact_json, under
from ctxsim.transcript import Kind, Media

IMAGE_TOKENS: Mapping[str, int] = {
    # Tokens of one image of unknown size.
    # Anthropic, "Vision": width * height / 750, resized to at most about 1,600 tokens.
    "anthropic": 1_600,
    # OpenAI, "Images and vision": high detail, 85 + 170 for each of the 4 tiles of a 1024 x 1024 image.
    "openai": 765,
    # Gemini, "Image understanding": 258 for each 768 x 768 tile.
    "gemini": 258,
}
LOW_DETAIL = 85
"""OpenAI's tokens of an image of any size in low detail, and before its tiles in high detail."""


class Part(msgspec.Struct, frozen=True):
    """One block of a response or of a user message, or a tool result. It has no place in the recording yet."""

    kind: Kind
    text: str = ""
    tool: str = ""
    call_id: str = ""
    media: tuple[Media, ...] = ()


def content_parts(kind: Kind, content: Any, vendor: str = "openai") -> list[Part]:
    """Return content (a string, a list of blocks, or None) as one part with its media; [] if it is empty."""
    text, media = text_and_media(content, vendor)
    return [Part(kind, text, media=media)] if text or media else []


def call_part(tool: Any, arguments: Any, call_id: Any) -> Part:
    """Return a tool call, given a log's values for its tool, arguments and id, each of any JSON type."""
    text = "" if arguments is None else compact_json(arguments)
    return Part("tool_call", text, str(tool or ""), str(call_id or ""))


def text_of(content: Any) -> str:
    """Return the text of content in any form, as `text_and_media` does."""
    return text_and_media(content, "")[0]


def text_and_media(content: Any, vendor: str = "openai") -> tuple[str, tuple[Media, ...]]:
    """Return the text of content in any form, and its media.

    Text blocks are joined by line feeds. Blocks of unknown type are kept as JSON text, because the model saw them.
    Media whose form is no vendor's are sized by the rule of `vendor`; '' if sizes don't matter.
    """
    if not isinstance(content, list):
        return "" if content is None else compact_json(content), ()
    texts: list[str] = []
    media: list[Media] = []
    for block in content:
        if not isinstance(block, dict):
            texts.append(compact_json(block))
        elif isinstance(block.get("text"), str) and block.get("type", "text") in ("text", "input_text", "output_text"):
            texts.append(block["text"])
        elif block.get("type") in ("image", "image_url", "input_image"):
            media.append(Media("image", _tokens_of_image(block, vendor)))
        elif block.get("type") in ("document", "file", "input_file", "audio", "input_audio", "video"):
            media.append(Media(str(block["type"]), IMAGE_TOKENS.get(vendor, 0)))
        else:
            texts.append(compact_json(block))
    return "\n".join(texts), tuple(media)


def _tokens_of_image(block: dict[str, Any], own: str) -> int:
    """Return tokens by the rule of the vendor whose form the block has, or of `own` for forms of no vendor (Inspect's
    `image`, pi's `data`); its tokens of an image of unknown size if the image isn't in the block.
    """
    unknown = IMAGE_TOKENS.get(own, 0)
    link = block.get("image_url")
    url, detail = (link.get("url"), link.get("detail")) if isinstance(link, dict) else (link, block.get("detail"))
    if detail == "low":
        return LOW_DETAIL
    forms = {"anthropic": under(block, "source", "data"), "openai": url}
    for vendor, held in (*forms.items(), (own, block.get("image")), (own, block.get("data"))):
        if vendor and isinstance(held, str) and "://" not in held[:32]:
            size = image_size(held.partition(",")[2] if held.startswith("data:") else held)
            return image_tokens(vendor, *size) if size else unknown
    return unknown


def image_tokens(vendor: str, width: int, height: int) -> int:
    """Return the tokens of an image of this size in pixels; `vendor` is one of anthropic, openai, gemini."""
    long, short = max(width, height), min(width, height)
    if vendor == "anthropic":
        # Vision: width * height / 750 after fitting into 1,568 pixels, at most 1,600.
        scale = min(1.0, 1_568 / long)
        return min(1_600, max(1, round(width * scale * height * scale / 750)))
    if vendor == "openai":
        # Images: 85 + 170 per tile of 512 pixels, fitted into 2,048 and then to 768 on the short side. That is high
        # detail of GPT-4o and GPT-4.1; later generations count patches of 32 pixels.
        scale = min(1.0, 2_048 / long)
        scale *= min(1.0, 768 / (short * scale))
        return LOW_DETAIL + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    # Image understanding: 258 up to 384 pixels on both sides, else 258 per tile of 768.
    return 258 if long <= 384 else 258 * math.ceil(width / 768) * math.ceil(height / 768)


def image_size(data: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a base64 image, from its first bytes; None if they can't be read."""
    # PIL is slow to import, and few transcripts have images.
    from PIL import Image

    try:
        with Image.open(BytesIO(b64decode(data[: 1 << 16]))) as image:
            width, height = image.size
            return int(width), int(height)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
