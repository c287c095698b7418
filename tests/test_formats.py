"""Our own format round-trips, the page of formats is what the readers say, and big files are streamed."""

from __future__ import annotations

import json
import tracemalloc
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from PIL import Image
from strategies import transcripts

from ctxsim.bench import Setting, bench
from ctxsim.content import content_kind
from ctxsim.errors import InputError
from ctxsim.readers import ctxsim_jsonl, formats, read
from ctxsim.readers.blocks import text_and_media
from ctxsim.readers.catalogue import markdown
from ctxsim.transcript import Transcript

ROOT = Path(__file__).parents[1]


def test_the_page_of_formats_is_current() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    assert page == markdown(), "run: ctxsim transcripts formats > docs/formats.md"


def test_every_format_says_what_it_is() -> None:
    for name, reader in formats().items():
        assert reader.TITLE and reader.VERSIONS and reader.READS and reader.NOT_READ, name
        assert reader.DOCS.startswith("https://") or name == "ctxsim", name
        document = reader.__doc__ or ""
        assert "Documentation:" in document and "{" in document, f"{name} shows no example"


@settings(max_examples=60, deadline=None)
@given(transcripts())
def test_own_format_round_trips(tmp_path_factory: pytest.TempPathFactory, transcript: Transcript) -> None:
    file = tmp_path_factory.mktemp("own") / "t.jsonl"
    with file.open("wb") as stream:
        for _ in range(2):
            stream.writelines(line.replace(b"\\ud800", b"") + b"\n" for line in ctxsim_jsonl.lines(transcript))
    assert list(read(str(file))) == [transcript, transcript]


def test_own_format_says_where_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    start = json.dumps({"ctxsim": 1, "name": "x"})
    file.write_text(start + '\n{"item": {"kind": "user", "place": "zero", "message": 1}}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:2: Expected `int`"):
        list(read(str(file)))
    file.write_text(start + '\n{"item": {"kind": "user", "place": 4, "message": 1}}\n')
    with pytest.raises(InputError, match="item 0 says its place is 4"):
        list(read(str(file)))
    file.write_text(json.dumps({"ctxsim": 9, "name": "x"}) + "\n" + start)
    with pytest.raises(InputError, match="version 9"):
        list(read(str(file)))


def test_memory_is_bounded_by_the_largest_transcript(tmp_path: Path) -> None:
    """40 transcripts of 1 MB each: reading them all must not hold much more than one."""
    file = tmp_path / "many.jsonl"
    text = "word " * 200_000
    with file.open("w") as stream:
        for number in range(40):
            messages = [
                {"role": "system", "content": "s"},
                {"role": "user", "content": f"{number} {text}"},
                {"role": "assistant", "content": "ok"},
            ]
            stream.write(json.dumps({"messages": messages}) + "\n")
    tracemalloc.start()
    try:
        assert sum(len(transcript.calls) for transcript in read(str(file))) == 40
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 << 20


def test_a_bench_holds_one_transcript_at_a_time(tmp_path: Path) -> None:
    """20 transcripts of 1 MB: replaying them must hold little more than replaying one."""
    text = "word " * 200_000

    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        with file.open("w") as stream:
            for number in range(count):
                roles = ("system", "user", "assistant")
                messages = [{"role": role, "content": f"{number} {text if role == 'user' else role}"} for role in roles]
                stream.write(json.dumps({"messages": messages}) + "\n")
        setting = Setting("x", "x", ("keep-all", "mask"))
        tracemalloc.start()
        try:
            bench(setting, tmp_path / f"out{count}", paths=[str(file)])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    assert peak(20) < 2 * peak(1) + (4 << 20)


def test_one_line_of_50_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "wide.jsonl"
    with file.open("w") as stream:
        for content in ("short", "x" * 50_000_000):
            stream.write(json.dumps({"role": "user", "content": content}) + "\n")
        stream.write(json.dumps({"role": "assistant", "content": "ok"}) + "\n")
    (transcript,) = read(str(file))
    assert len(transcript.items[1].text) == 50_000_000


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ('{"a": 1}', "json"),
        ('[{"id": 1, "name": "x"}]', "json"),
        ("<!DOCTYPE html><html><body><p>hi</p></body></html>", "html"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", "diff"),
        ("iVBORw0KGgoAAAANSUhEUg" * 30, "base64"),
        ("a,b,c\n1,2,3\n4,5,6\n7,8,9", "csv"),
        ("2026-01-01T10:00:00 INFO start\n2026-01-01T10:00:01 ERROR stop", "log"),
        ("# Title\n\n- one\n- two\n\nSee [this](https://x.example).", "markdown"),
        ("import os\n\ndef f(x):\n    return os.path.join(x, 'y')\n", "code"),
        ("это обычный русский текст про погоду", "other-script"),
        ("The weather was fine, and nobody said otherwise.", "prose"),
        ("!function(e,t){" + "var a=b(c),d=e[f];return g?h:i;" * 80 + "}()", "minified"),
    ],
)
def test_content_kinds(text: str, kind: str) -> None:
    assert content_kind(text) == kind


def test_images_count_by_the_rule_of_the_form_they_come_in() -> None:
    # 600 x 134 pixels: Anthropic 600 * 134 / 750 = 107; OpenAI 2 x 1 tiles: 85 + 2 * 170 = 425.
    stream = BytesIO()
    Image.new("1", (600, 134)).save(stream, "PNG")
    png = b64encode(stream.getvalue()).decode()
    anthropic = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    openai = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}}
    unknown = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
    assert [media.tokens for media in text_and_media([anthropic, openai, unknown], 765)[1]] == [107, 425, 765]
