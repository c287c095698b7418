"""Every real recording is read, or refused with a reason; what is read is valid, and told apart by its content."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, cast

import corpus
import msgspec
import pandas
import pytest

from ctxsim.answers.advice.intervals import rank_ranges
from ctxsim.answers.validation.accuracy import observe
from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.readers import ORDER, read, registered_formats
from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.source import Sample
from ctxsim.recorded.size_fit import growth
from ctxsim.simulator.measure.measured import Basis, measure
from ctxsim.simulator.measure.summary import summary_row
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript, problems

pytestmark = [corpus.here, pytest.mark.corpus]


REFUSED = (
    # Part of the name: what a person accepts as the reason.
    ("antigravity/", "no ids, results typed apart from their calls, fields cut"),
    ("schema_drift", "an invented future shape"),
    ("session_branch.jsonl", "an invented shape"),
    ("session_toolcall.jsonl", "an invented shape"),
    (".meta.json", "metadata beside a sub-agent's session"),
    ("state.json", "metadata beside a session"),
    ("summary.json", "metadata beside a session"),
    ("stream_json", "a stream without what a transcript needs"),
    ("exec", "a stream without user texts and requests"),
)


def test_every_file_is_read_or_refused_for_a_known_reason() -> None:
    refused, found = [], 0
    for source in corpus.some_sources():
        read_whole, error = corpus.whole(source)
        found += len(read_whole)
        if error:
            assert "\n" not in error and source.name in error
            refused.append(source.name)
    assert found > 150
    unexplained = [name for name in refused if not any(part in name for part, _ in REFUSED)]
    assert not unexplained


def test_detection_is_never_ambiguous() -> None:
    special = [reader for name, reader in registered_formats().items() if name not in ORDER]
    for source in corpus.some_sources():
        sample = Sample(source)
        if sample.folder:
            owners = [
                reader.NAME for reader in special if hasattr(reader, "owns") and cast(Any, reader).owns(sample.folder)
            ]
        else:
            owners = [reader.NAME for reader in special if reader.matches(sample)]
        assert len(owners) <= 1, (source.name, owners)


def test_every_transcript_is_valid_and_keep_all_never_breaks_a_pair() -> None:
    names = set()
    for transcript in corpus.recorded():
        assert problems(transcript) == [], transcript.name
        assert transcript.name not in names
        names.add(transcript.name)
        roomy = Provider(window=1 << 40, reasoning="all")
        for sent in replay(transcript, open_policy("keep-all"), roomy, Counter(open_tokenizer())):
            assert sent.status == "ok", (transcript.name, sent.call, sent.verdict.reason)


def test_conversion_round_trips(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    originals = list(corpus.recorded())
    with file.open("wb") as stream:
        for transcript in originals:
            stream.writelines(line + b"\n" for line in ctxsim_jsonl.lines(transcript))
    back = list(read(str(file)))
    assert [msgspec.json.encode(t) for t in back] == [msgspec.json.encode(t) for t in originals]


def test_counts_follow_recorded_usage() -> None:
    claude = ("claude-code", "pi", "openhands-completions")
    engine = {"o200k_base": ("tau2-bench", "gemini-cli", *claude), "deepseek_v3": ("mini-swe-agent",)}
    rows = {}
    for name, formats in engine.items():
        tokenizer, grown = open_tokenizer(name), dict[str, list[float]]()
        for transcript in corpus.recorded():
            # Of a few hundred growths the median is that of thousands.
            if transcript.format not in formats or len(grown.get(transcript.format, ())) > 300:
                continue
            runs = observe([transcript], tokenizer, [open_estimator("chars")]).runs
            for segment, run in zip(segments(transcript), runs, strict=bool(transcript.calls)):
                sizes = [point.tokens for point in run]
                found = [(sizes[at - 1] - sizes[base - 1]) / more - 1 for at, more, base in growth(segment)]
                grown.setdefault(transcript.format, []).extend(found)
        rows[name] = {name: median(values) for name, values in grown.items() if values}
    # Growth since a segment's first call, ours against recorded. Our side lacks framing, and Claude's tokenizer.
    assert abs(rows["o200k_base"]["tau2-bench"]) < 0.08
    assert abs(rows["o200k_base"]["gemini-cli"]) < 0.12
    assert abs(rows["deepseek_v3"]["mini-swe-agent"]) < 0.13
    for name in claude:
        assert -0.45 < rows["o200k_base"][name] < 0


def test_the_published_pattern_of_masking() -> None:
    """arXiv 2508.21433: masking halves the cost of long runs; with a cache, many small edits cost more than none."""
    # Every fourth source: of the pattern the rest says the same.
    long = [
        (untimed(transcript), Counter(open_tokenizer()))
        for transcript in corpus.recorded(every=4)
        if len(transcript.calls) >= 60
    ]
    assert len(long) >= 6
    prices = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    cheap_reads = Prices(input=3.0, output=15.0, cache_read=0.075, cache_write=3.75)

    def dollars(label: str, cache: str, at: Prices = prices) -> float:
        provider = Provider(window=1 << 40, cache=cache, prices=at, pace_s=10)
        return sum(
            sent.cost_usd or 0.0
            for transcript, counter in long
            for sent in replay(transcript, open_policy(label), provider, counter)
        )

    masked = dollars("mask:keep=10", "none") / dollars("keep-all", "none")
    assert 0.25 < masked < 0.65, "masking old observations saves roughly half against raw"
    every_call, batched = dollars("mask:keep=10", "anthropic"), dollars("mask:keep=10,batch=20", "anthropic")
    keep_all = dollars("keep-all", "anthropic")
    assert batched < keep_all < every_call, "clearing a little on every call loses to clearing in batches"
    cheap = dollars("mask:keep=10,batch=20", "anthropic", cheap_reads) / dollars("keep-all", "anthropic", cheap_reads)
    assert batched / keep_all < cheap, "the same rule pays less where reading the cache costs less"


NESTED = (
    # What the first sends, the second sends too: it can't keep more of what is needed, in any transcript.
    ("drop-all", "mask:keep=3"),
    ("mask:keep=3", "mask:keep=10"),
    ("mask:keep=10", "keep-all"),
    ("max-result-chars:chars=500", "max-result-chars:chars=4000"),
    ("max-result-chars:chars=4000", "keep-all"),
)


def test_policies_rank_by_survival_as_they_should() -> None:
    """Whatever was recorded: who keeps less loses more, the bounds lie where they must, and clear cases rank so."""
    labels = sorted({label for pair in NESTED for label in pair} | {"oracle-lossless"})
    found: dict[str, list[float]] = {label: [] for label in labels}
    names, roots = [], []
    for transcript in corpus.recorded():
        if not 15 <= len(transcript.calls) <= 60:
            continue
        basis = Basis(transcript, Provider(window=1 << 40), Counter(open_tokenizer()))
        rows = {label: summary_row(basis, measure(basis, open_policy(label))) for label in labels}
        survival = {label: row.survival for label, row in rows.items() if row.survival is not None}
        assert rows["oracle-lossless"].survival_loose in (None, 1.0), transcript.name
        if not survival:
            continue
        assert survival["keep-all"] == survival["oracle-lossless"] == 1.0 and survival["drop-all"] == 0.0
        for less, more in NESTED:
            assert survival[less] <= survival[more], (transcript.name, less, more)
        for label in labels:
            found[label].append(survival[label])
        names.append(transcript.name)
        roots.append(rows["keep-all"].root)
    assert len(names) >= 20
    parts = {
        label: pandas.DataFrame({"transcript": names, "root": roots, "survival": values})
        for label, values in found.items()
    }
    ranks = rank_ranges(parts)
    for less, more in (("drop-all", "mask:keep=3"), ("mask:keep=3", "mask:keep=10"), ("mask:keep=10", "keep-all")):
        assert ranks[less][0] > ranks[more][1], (less, more, ranks)


def untimed(transcript: Transcript) -> Transcript:
    """Without recorded times: pauses of days between calls would be about lifetimes, not about edits."""
    calls = tuple(msgspec.structs.replace(call, time_s=None) for call in transcript.calls)
    return msgspec.structs.replace(transcript, calls=calls)
