"""Content that is a string, a list of blocks, or nothing: its text, and its non-text parts by the vendor's rule."""

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.assembly.images import image_size, image_tokens
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
        elif isinstance(block.get("text"), str) and block.get("type", "text") in ("text", "input_text", "output_text"):
            texts.append(block["text"])
        elif block.get("type") in ("image", "image_url", "input_image"):
            media.append(Media("image", _tokens_of_image(block, image_tokens)))
        elif block.get("type") in ("document", "file", "input_file", "audio", "input_audio", "video"):
            media.append(Media(str(block["type"]), image_tokens))
        else:
            texts.append(compact_json(block))
    return "\n".join(texts), tuple(media)


def _tokens_of_image(block: dict[str, Any], unknown: int) -> int:
    """Tokens by the rule of the vendor whose form the block has, if the image is in it; else `unknown`.

    Forms that are no vendor's own (Inspect's `image`, pi's `data`) go by the vendor whose constant `unknown` is.
    """
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        return _counted("anthropic", source["data"], unknown)
    link = block.get("image_url")
    url = link.get("url") if isinstance(link, dict) else link
    if isinstance(url, str) and url.startswith("data:"):
        return _counted("openai", url.partition(",")[2], unknown)
    own = next((vendor for vendor, tokens in IMAGE_TOKENS.items() if tokens == unknown), None)
    for held in (block.get("image"), block.get("data")):
        if own and isinstance(held, str) and "://" not in held[:32]:
            return _counted(own, held.partition(",")[2] if held.startswith("data:") else held, unknown)
    return unknown


def _counted(vendor: str, data: str, unknown: int) -> int:
    size = image_size(data)
    return image_tokens(vendor, *size) if size else unknown
