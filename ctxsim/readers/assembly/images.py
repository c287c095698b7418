"""Tokens of an image by its vendor's formula, from the size that its first bytes tell."""

import math
from base64 import b64decode
from io import BytesIO


def anthropic_image(width: int, height: int) -> int:
    """width * height / 750 after fitting into 1,568 pixels, at most 1,600 (Anthropic documentation, Vision)."""
    scale = min(1.0, 1_568 / max(width, height))
    return min(1_600, max(1, round(width * scale * height * scale / 750)))


def openai_image(width: int, height: int) -> int:
    """85 + 170 per tile of 512 pixels, fitted into 2,048 and then to 768 on the short side (OpenAI, Images).

    That is high detail of GPT-4o and GPT-4.1; later generations count patches of 32 pixels.
    """
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return 85 + 170 * tiles


def gemini_image(width: int, height: int) -> int:
    """258 up to 384 pixels on both sides, else 258 per tile of 768 (Gemini API documentation, Image understanding)."""
    if max(width, height) <= 384:
        return 258
    return 258 * math.ceil(width / 768) * math.ceil(height / 768)


def image_tokens(vendor: str, width: int, height: int) -> int:
    """Return the tokens of an image of so many pixels; `vendor` is one of anthropic, openai, gemini."""
    return {"anthropic": anthropic_image, "openai": openai_image, "gemini": gemini_image}[vendor](width, height)


def image_size(data: str) -> tuple[int, int] | None:
    """Return width and height in pixels of a base64 image, from its first bytes; None if they don't tell."""
    # Imaging takes long to import, and few transcripts have images.
    from PIL import Image

    try:
        with Image.open(BytesIO(b64decode(data[: 1 << 16]))) as image:
            width, height = image.size
            return int(width), int(height)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
