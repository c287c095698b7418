"""Images whose bytes are in the log are counted by the vendor's formula from their size."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO

import corpus
import pytest
from PIL import Image

from ctxsim.answers.validation.validation import compare
from ctxsim.readers import read_source, sources
from ctxsim.readers.assembly.blocks import image_size, image_tokens, text_and_media


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
        # At least a token; 1,568 pixels stay, 1,569 become 1,568: 1,568 x 750 / 1,569 x 1,568 / 750 = 1,567.
        ("anthropic", (5, 5), 1), ("anthropic", (1_568, 750), 1_568), ("anthropic", (1_569, 750), 1_567),
        # 1,024 x 1,024 to 768 x 768: 2 x 2 tiles; 1,000 x 2,000 to 768 x 1,536: 2 x 3, filled to the last pixel.
        ("openai", (34, 30), 85 + 170), ("openai", (1_024, 1_024), 85 + 4 * 170), ("openai", (1_000, 2_000), 1_105),
        # One pixel more than a tile begins another.
        ("openai", (513, 512), 85 + 2 * 170), ("openai", (512, 513), 85 + 2 * 170),
        # 2,304 x 768 fits into 2,048 x 683: 4 x 2 tiles.
        ("openai", (768, 768), 85 + 4 * 170), ("openai", (2_304, 768), 85 + 8 * 170),
        ("openai", (2_048, 512), 85 + 4 * 170), ("openai", (4_096, 1_024), 85 + 4 * 170),
        ("gemini", (384, 384), 258), ("gemini", (385, 100), 258), ("gemini", (385, 769), 2 * 258),
        ("gemini", (769, 768), 2 * 258), ("gemini", (768, 769), 2 * 258), ("gemini", (1_536, 1_537), 6 * 258),
    ],
)  # fmt: skip
def test_formulas_by_hand(vendor: str, size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(vendor, *size) == tokens
    assert image_size(png(*size)) == size


@pytest.mark.parametrize(
    ("block", "vendor", "tokens"),
    [
        # Inspect's and pi's own forms go by the model's vendor.
        ({"type": "image", "image": f"data:image/png;base64,{png(34, 30)}"}, "openai", 255),
        ({"type": "image", "data": png(750, 100), "mimeType": "image/png"}, "anthropic", 100),
        # Others by the vendor whose form they have: 600 * 134 / 750 = 107, or 2 x 1 tiles.
        ({"type": "image", "source": {"type": "base64", "data": png(600, 134)}}, "openai", 107),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(600, 134)}"}}, "gemini", 425),
        # In low detail no tiles, whatever the size.
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(600, 134)}", "detail": "low"}},
         "openai", 85),
        ({"type": "input_image", "image_url": "https://x.example/y.png", "detail": "low"}, "openai", 85),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{png(600, 134)}", "detail": "high"},
         "openai", 425),
        # What isn't there, or is none, costs the constant.
        ({"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}, "openai", 765),
        *(({"type": "image", "image": image}, "openai", 765)
          for image in ("tc://734b3dc396aa9924b5f2a48de42561d2", "https://example.org/a.png", "bm90IGFuIGltYWdl")),
    ],
)  # fmt: skip
def test_an_image_counts_by_the_rule_of_its_form(block: dict[str, object], vendor: str, tokens: int) -> None:
    _, (media,) = text_and_media([block], vendor)
    assert media.tokens == tokens


@corpus.here
@pytest.mark.corpus
def test_a_recorded_request_with_an_image_has_its_recorded_size() -> None:
    found = []
    for source in sources(str(corpus.FOLDER / "inspect-ai" / "log_images_tc.json")):
        for transcript in read_source(source):
            found += compare(transcript)
    assert found and all(abs(call.counted - call.recorded) <= 2 for call in found)


@pytest.mark.parametrize(
    ("content", "text", "kinds"),
    [
        (None, "", []), ("x", "x", []), ({"a": 1}, '{"a":1}', []), (5, "5", []),
        (["x", 5, {"type": "text", "text": "y"}, {"text": "z"}], "x\n5\ny\nz", []),
        ([{"type": "input_text", "text": "x"}, {"type": "output_text", "text": "y"}], "x\ny", []),
        # What is of no known type stays as it was written; so does a text that is none.
        ([{"type": "new", "text": "x"}, {"type": "text", "text": 5}],
         '{"type":"new","text":"x"}\n{"type":"text","text":5}', []),
        ([{"type": one} for one in ("document", "file", "input_file", "audio", "input_audio", "video")], "",
         ["document", "file", "input_file", "audio", "input_audio", "video"]),
        ([{"type": one} for one in ("image", "image_url", "input_image")], "", ["image"] * 3),
    ],
)  # fmt: skip
def test_text_and_what_is_none_of_any_content(content: object, text: str, kinds: list[str]) -> None:
    found, media = text_and_media(content, "gemini")
    assert (found, [one.kind for one in media], {one.tokens for one in media} - {258}) == (text, kinds, set())
