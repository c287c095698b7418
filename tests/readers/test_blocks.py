"""Images whose bytes are in the log are counted by the vendor's formula from their size."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

import corpus
import pytest
from PIL import Image

from ctxsim.answers.validation.validation import compare
from ctxsim.readers import read_source, sources
from ctxsim.readers.assembly.blocks import IMAGE_TOKENS, image_size, image_tokens, text_and_media


def png(width: int, height: int) -> str:
    held = BytesIO()
    Image.new("1", (width, height)).save(held, "PNG")
    return b64encode(held.getvalue()).decode()


@pytest.mark.parametrize(
    ("vendor", "size", "tokens"),
    [
        ("anthropic", (750, 100), 100),
        # 3,136 x 1,568 fits into 1,568 x 784: 1,639, of which at most 1,600 count.
        ("anthropic", (3_136, 1_568), 1_600),
        ("openai", (34, 30), 85 + 170),
        # 1,024 x 1,024 to 768 x 768: 2 x 2 tiles.
        ("openai", (1_024, 1_024), 85 + 4 * 170),
        # 1,000 x 2,000 to 768 x 1,536: 2 x 3 tiles, filled to the last pixel.
        ("openai", (1_000, 2_000), 85 + 6 * 170),
        # One pixel more than a tile begins another.
        ("openai", (513, 512), 85 + 2 * 170),
        ("openai", (512, 513), 85 + 2 * 170),
        ("gemini", (384, 384), 258),
        ("gemini", (769, 768), 2 * 258),
        ("gemini", (768, 769), 2 * 258),
    ],
)
def test_formulas_by_hand(vendor: str, size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(vendor, *size) == tokens
    assert image_size(png(*size)) == size


@pytest.mark.parametrize(
    ("block", "vendor"),
    [
        ({"type": "image", "image": f"data:image/png;base64,{png(34, 30)}"}, "openai"),
        ({"type": "image", "data": png(750, 100), "mimeType": "image/png"}, "anthropic"),
    ],
)
def test_inspects_and_pis_own_forms_go_by_the_models_vendor(block: dict[str, str], vendor: str) -> None:
    _, (media,) = text_and_media([block], IMAGE_TOKENS[vendor])
    assert media.tokens == {"openai": 255, "anthropic": 100}[vendor]


@pytest.mark.parametrize(
    "image", ["tc://734b3dc396aa9924b5f2a48de42561d2", "https://example.org/a.png", "bm90IGFuIGltYWdl"]
)
def test_an_image_that_is_not_there_costs_the_constant(image: str) -> None:
    _, (media,) = text_and_media([{"type": "image", "image": image}], IMAGE_TOKENS["openai"])
    assert media.tokens == IMAGE_TOKENS["openai"]


@corpus.here
@pytest.mark.corpus
def test_a_recorded_request_with_an_image_has_its_recorded_size() -> None:
    found = []
    for source in sources(str(corpus.FOLDER / "inspect-ai" / "log_images_tc.json")):
        for transcript in read_source(source):
            found += compare(transcript)
    assert found and all(abs(call.counted - call.recorded) <= 2 for call in found)


def test_images_count_by_the_rule_of_the_form_they_come_in() -> None:
    # 600 x 134 pixels: Anthropic 600 * 134 / 750 = 107; OpenAI 2 x 1 tiles: 85 + 2 * 170 = 425.
    stream = BytesIO()
    Image.new("1", (600, 134)).save(stream, "PNG")
    png = b64encode(stream.getvalue()).decode()
    anthropic = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    openai = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}}
    unknown = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
    assert [media.tokens for media in text_and_media([anthropic, openai, unknown], 765)[1]] == [107, 425, 765]
