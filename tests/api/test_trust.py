"""How far figures hold, and what checks of one's own parts say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim as command
from invented import write_logs
from samples import conversation

import ctxsim
from ctxsim.errors import InputError, UnknownName
from ctxsim.transcript import Compaction

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented logs."""
    return write_logs(tmp_path_factory.mktemp("api") / "logs", count=1)


def test_how_far_figures_hold(logs: Path, tmp_path: Path) -> None:
    """What `validate`, `calibrate` and `compactions` print, as values."""
    done = ctxsim.validate(logs)
    assert {(row.format, row.model) for row in done.scores} == set(
        zip(done.frame().format, done.frame().model, strict=True)
    )
    assert len(done.calls) == done.frame().calls.sum() > 10
    judged = ctxsim.estimates(logs, ["chars", "words"])
    assert set(judged.frame().estimator) == {"chars", "words"} and len(judged.consequences) == 2
    fit = ctxsim.calibrate(logs, by="kind", risk=0.05)
    assert fit.frame().group[0] == "all" and fit.frame().chars_per_token[0] == fit.calibration.overall.chars_per_token
    points, overall = fit.points(), fit.calibration.overall
    assert (len(points), sum(tokens for _, tokens, _ in points)) == (overall.texts, overall.tokens)
    file = fit.save(tmp_path / "own.json")
    assert (
        command("calibrate", str(logs), "--by", "kind", "--risk", "0.05", "--out", "other.json", cwd=tmp_path)[0] == 0
    )
    assert file.read_bytes() == (tmp_path / "other.json").read_bytes()
    recorded = ctxsim.calibrate(logs, against_usage=True)
    tokens = [tokens for _, tokens, _ in recorded.points()][:4]
    assert recorded.calibration.heads
    assert [one - tokens[0] for one in tokens] == [0, 600, 900, 1_200], "1000, 1600, 1900, 2200, each without the head"
    assert ctxsim.compactions(logs).frame().empty
    made = conversation(*RESULTS)
    compacted = msgspec.structs.replace(made, compactions=(Compaction(4, made.calls[2].end, "auto", ("order A1000",)),))
    cut = ctxsim.compactions([compacted, *ctxsim.read(logs)], beside=False)
    assert cut.frame().transcript.tolist() == [compacted.name] and not cut.beside


def test_parts_of_ones_own_are_checked(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('models = ["mine-*"]\n[cache]\nkind = "prefix"\nlifetime_s = 60\n')
    run = ctxsim.bench("documented-53k", ["mask"], out="run")
    for kind, target in (
        ("policy", "mask:keep=2"), ("estimator", "chars/3"), ("reader", "codex-rollout"), ("agent", "codex"),
        ("vendor", "anthropic"), ("run", run.folder),
    ):  # fmt: skip
        on = {"policy": ("documented-53k",), "reader": (logs / "rollout-1.jsonl",)}.get(kind, ())
        found = ctxsim.check(kind, target, *on)
        assert found.ok and found.violations == () and found.frame().empty, found
    gaps = ctxsim.check("vendor", "mine.toml")
    assert gaps.ok and gaps.frame().to_dict("list") == {
        "what": ["finding"] * 2, "line": ["cache names no source", "cache names no date"]
    }  # fmt: skip
    (tmp_path / "mine.py").write_text(
        "from ctxsim import Estimator\nclass Headless(Estimator):\n    name = 'headless'\n"
        "    def text(self, text): return len(text)\n    def head(self, head): return -1\n"
    )
    told = ctxsim.check("estimator", "mine.py:Headless").violations
    assert told == ("estimator mine.py:Headless: `head` returned -1; it must return a whole number of at least 0",)
    with pytest.raises(UnknownName, match="did you mean policy"):
        ctxsim.check("polcy", "mask")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean mask"):
        ctxsim.check("policy", "maks")


def test_a_vendor_of_ones_own_sets_the_rules(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefix"\nlifetime_s = 600\nstep = 64\n')
    found = ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")
    assert found.calls.tokens_cache_read[1:].gt(0).all() and (found.calls.tokens_cache_read % 64 == 0).all()
    assert "mine.toml" in found.provider.describe()
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefixes"\n')
    with pytest.raises(InputError, match=r"mine\.toml: is no vendor: Invalid enum value 'prefixes' - at "):
        ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")


def test_a_vendor_in_the_users_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ctxsim" / "vendors").mkdir(parents=True)
    (tmp_path / "ctxsim" / "vendors" / "ours.toml").write_text('[cache]\nkind = "prefix"\nlifetime_s = 600\n')
    assert ctxsim.replay("documented-53k", cache="ours").calls.tokens_cache_read.sum() > 0
    assert ctxsim.check("vendor", "ours").ok
    listed = command("list", "vendors", "ours", cwd=tmp_path).stdout
    assert "models = chosen by name only" in listed and "cache.lifetime_s = 600" in listed
