"""Content blocks: images count by the rule of their form."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

from PIL import Image

from ctxsim.readers.assembly.blocks import text_and_media


def test_images_count_by_the_rule_of_the_form_they_come_in() -> None:
    # 600 x 134 pixels: Anthropic 600 * 134 / 750 = 107; OpenAI 2 x 1 tiles: 85 + 2 * 170 = 425.
    stream = BytesIO()
    Image.new("1", (600, 134)).save(stream, "PNG")
    png = b64encode(stream.getvalue()).decode()
    anthropic = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    openai = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}}
    unknown = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
    assert [media.tokens for media in text_and_media([anthropic, openai, unknown], 765)[1]] == [107, 425, 765]
