"""Rounds: facts are told once and never again, truncation keeps what geometry says, and the tables tell it by round."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim

from ctxsim import bench
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.report.charts import charts_of
from ctxsim.report.picture import picture
from ctxsim.report.planted import in_rounds, needle_sheets
from ctxsim.report.sheet import text_rows
from ctxsim.results import read_run
from ctxsim.simulator.measure.measured import AsSent, measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.survival import Needles
from ctxsim.simulator.replay import replay
from ctxsim.synthesis.rounds import CANARIES, PARTS, Parameters, generate
from ctxsim.transcript import Transcript


def made(**parameters: int | list[str]) -> Transcript:
    return generate(random.Random(3), Counter(open_tokenizer()), msgspec.convert(parameters, Parameters))


def canaries() -> Transcript:
    """Two of each kind in each part, of which one late replaces one early."""
    return made(kinds=list(CANARIES), each=2, superseded=1, rounds=3, calls_per_round=4, result_chars=300)


def test_an_old_value_alone_is_stale() -> None:
    transcript = canaries()

    def counted(label: str) -> dict[int, tuple[int, int]]:
        """By the call that looks for them, how many are held and how many are stale."""
        found: dict[int, list[tuple[bool, bool]]] = {}
        for row in measure(AsSent(transcript, Provider(window=1 << 60)).basis(), open_policy(label)).losses.needles:
            found.setdefault(row.call, []).append((row.kept, row.stale))
        return {call: (sum(kept for kept, _ in of), sum(stale for _, stale in of)) for call, of in found.items()}

    # With all in view the old value stands beside the new one.
    assert counted("keep-all") == dict.fromkeys((31, 35, 39, 43), (25, 0))
    # Of the 25 the user said two of each kind; five new values were in results, and the user had said the old ones.
    assert counted("mask:keep=1")[43] == (10, 5)
    # Two messages hold neither.
    assert counted("max-messages:n=2")[43] == (0, 0)


def told(transcript: Transcript, label: str) -> dict[str, float]:
    """The share of facts that a policy holds when all is told, by part."""
    needles = Needles(transcript)
    first = transcript.needles[0].used[0]
    provider = Provider(window=1 << 60)
    sent = next(
        one for one in replay(transcript, open_policy(label), provider, provider.counter()) if one.call == first
    )
    found = [(needle.depth, kept) for _, needle, kept, _ in needles.call(first, sent.view)]
    return {part: sum(kept for depth, kept in found if depth == part) / (len(found) / 3) for part in PARTS}


def test_plain_truncation_keeps_the_end() -> None:
    transcript = made()
    first = transcript.needles[0].used[0]
    messages = len({item.message for item in transcript.items[: transcript.calls[first - 1].start]})
    # What is left of the last third is three times the share that is left of all: 31 % of all is 93 % of it. Published
    # of plain truncation: 0, 1 and 93 % of early, middle and late facts.
    found = told(transcript, f"max-messages:n={round(0.31 * messages)}")
    assert (found["early"], found["middle"]) == (0, 0)
    assert found["late"] == pytest.approx(0.93, abs=0.04)
    for share in (0.1, 0.2, 0.5, 0.8):
        kept = told(transcript, f"max-messages:n={round(share * messages)}")
        for number, part in enumerate(reversed(PARTS)):
            assert kept[part] == pytest.approx(min(1.0, max(0.0, 3 * share - number)), abs=0.1), (share, part)
    assert told(transcript, "keep-all") == dict.fromkeys(PARTS, 1.0)
    assert told(transcript, "drop-all")["early"] < 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of rounds, and one of the scenario `needles`."""
    path: Path = tmp_path_factory.mktemp("rounds")
    (path / "small.toml").write_text(
        'title = "Small"\ndescription = "d"\npolicies = ["keep-all", "max-messages:n=12"]\n'
        '[synthesis]\ngenerator = "rounds"\nseed = 1\n'
        "[synthesis.parameters]\neach = 1\nrounds = 2\ncalls_per_round = 3\nresult_chars = 200\n"
        '[provider]\nwindow = 100000\nframing = "none"\ncache = "none"\n'
    )
    for scenario in ("small.toml", "needles"):
        out = scenario.removesuffix(".toml")
        done = ctxsim("bench", "--scenario", scenario, "--policy", "keep-all", "--policy", "max-messages:n=12", "--out", out, cwd=path)  # fmt: skip # noqa: E501
        assert done.returncode == 0, done.stderr
    return path


def test_rounds_are_told_by_round_part_and_kind(folder: Path) -> None:
    run = read_run(folder / "small")
    assert sorted(set(in_rounds(run)["round"])) == [0, 1, 2]
    (everything, truncated), (_, kinds) = map(text_rows, needle_sheets(run))
    assert list(everything) == ["policy", "told", "rd 1", "rd 2", "early", "middle", "late"]
    assert set(everything.values()) == {"keep-all (bound)", "100%"}
    # Twelve messages are the last four calls of those that told, and in the end none of them.
    assert (truncated["early"], truncated["middle"], truncated["rd 2"]) == ("0%", "0%", "0%")
    assert truncated["late"] not in ("0%", "100%")
    assert all(cell == "0%" for name, cell in kinds.items() if name != "policy")
    one, drawn = picture(run), folder / "rounds.svg"
    assert charts_of(one)["rounds"](one, drawn) == drawn and drawn.exists()


def test_a_table_counts_the_stale_where_there_are_some(folder: Path, tmp_path: Path) -> None:
    text = (folder / "small.toml").read_text().replace("each = 1", 'each = 1\nsuperseded = 1\nkinds = ["fact", "goal"]')
    (tmp_path / "canaries.toml").write_text(text)
    run = bench(str(tmp_path / "canaries.toml"), ["keep-all", "mask:keep=1"])
    # One of each kind is left in the user's words alone, and a result had replaced it.
    assert [row["stale"] for row in text_rows(needle_sheets(run)[1])] == ["0", "2"]
    assert "stale" not in text_rows(needle_sheets(read_run(folder / "small"))[1])[0]


def test_facts_that_are_used_once_are_no_rounds(folder: Path) -> None:
    assert in_rounds(read_run(folder / "needles")) is None
