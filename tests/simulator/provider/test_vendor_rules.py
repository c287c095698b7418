"""The vendors' rules: each with its source and date, told from a model's name, and what they do."""

from __future__ import annotations

from pathlib import Path

import corpus
import msgspec
import pytest
from command_line import ctxsim
from samples import call_rows, conversation, run

from ctxsim.answers.validation.validation import compare
from ctxsim.errors import LabelError, UnknownName
from ctxsim.readers import read_source, sources
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider.models import find_model
from ctxsim.simulator.provider.resolve import of_model, resolve
from ctxsim.simulator.provider.rule_table import rules_of, vendor_gaps
from ctxsim.simulator.provider.vendor import Framing, load_vendor, vendor_names, vendor_of

LONG = "word " * 2_000
"""2,000 tokens of o200k_base."""


def test_every_rule_says_where_it_is_from_and_of_when() -> None:
    for row in rules_of("*"):
        assert row.source and row.date, row


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("claude-opus-4-5-20251101", "anthropic"), ("gpt-5.3-codex-spark", "openai"), ("o3", "openai"),
        ("gpt-5.6-sol", "openai-paid-writes"), ("gpt-6.1-terra", "openai-paid-writes"), ("gemini-2.5-pro", "google"),
        ("deepseek-chat", "deepseek"), ("kimi-k2.7-code", "moonshot"), ("kimi-k3.1-pro", "moonshot-paid-writes"),
        ("glm-4.6", "zai"), ("grok-4.5", "xai"), ("MiniMax-M2", "minimax"), ("devstral-2512", "mistral"),
        ("qwen3-coder-plus", "alibaba"), ("somebody-else", "none"), ("openai/gpt-5.5", "openai"),
        ("global.moonshotai.kimi-k3", "moonshot-paid-writes"), ("moonshotai.kimi-k2-thinking", "moonshot"),
        ("openrouter/google/gemini-2.5-pro", "google"), ("us.anthropic.claude-opus-4-6@20260101", "anthropic"),
    ],
)  # fmt: skip
def test_a_models_name_tells_its_vendor(model: str, vendor: str) -> None:
    assert vendor_of(model) == vendor
    found = find_model(model, recorded=True)
    assert (found.vendor if found else "none") == vendor


def test_no_two_vendors_claim_the_same_names() -> None:
    claimed = [pattern for name in vendor_names() for pattern in load_vendor(name).models]
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize(
    ("model", "resend"),
    [
        ("claude-opus-4-5-20251101", "all"), ("claude-opus-4.8-fast", "all"), ("claude-sonnet-4-6", "all"),
        ("claude-sonnet-5", "all"), ("claude-fable-5", "all"), ("claude-sonnet-4-5-20250929", "current_turn"),
        ("claude-opus-4-1-20250805", "current_turn"), ("claude-opus-4-20250514", "current_turn"),
        ("claude-haiku-4-5-20251001", "current_turn"), ("claude-3-7-sonnet-latest", "current_turn"),
    ],
)  # fmt: skip
def test_claude_keeps_its_thinking_from_opus_4_5_on(model: str, resend: str) -> None:
    found = find_model(model)
    assert found and of_model(found, model)["reasoning"] == resend


def test_gpt_5_6_reads_back_to_its_last_breakpoint_however_far() -> None:
    assembly = Assembly("far")
    assembly.user(LONG)
    for number in range(2):
        assembly.response([Part("assistant", f"{step} {number}") for step in range(60)])
        assembly.user("next")
    assembly.response([Part("assistant", "done")])
    reads = {
        vendor: [
            one.bill.split.read for one in run(assembly.transcript(), "keep-all", cache=vendor, breakpoints="automatic")
        ]
        for vendor in ("openai-paid-writes", "anthropic")
    }
    # 60 blocks between the marks of two calls: OpenAI has no limit of blocks, Anthropic looks 20 back.
    assert reads["openai-paid-writes"][1] >= 2_000
    assert reads["anthropic"][1] == 0


def test_at_most_80_breakpoints_are_readable() -> None:
    rule = load_vendor("openai-paid-writes").cache
    assert (rule.readable, rule.max_breakpoints, rule.implicit) == (80, 3, True)


def test_kimi_k3_writes_what_it_does_not_read() -> None:
    rows = call_rows(conversation(LONG, "ok"), "keep-all", cache="moonshot-paid-writes")
    assert rows[0].tokens_cache_write == 0, "shorter than one unit"
    assert rows[1].tokens_cache_write == rows[1].tokens_sent
    assert rows[2].tokens_cache_read % 256 == 0 and rows[2].tokens_cache_read > 1_700
    assert rows[2].tokens_cache_write == rows[2].tokens_sent - rows[2].tokens_cache_read
    assert all(row.tokens_uncached == 0 for row in rows[1:])


def test_gemini_3_pro_reads_less_than_is_documented() -> None:
    google = load_vendor("google").cache
    models = ("gemini-3-pro-preview", "google/gemini-3-pro-preview", "gemini-2.5-pro", "gemini-3.1-pro-preview")
    assert [google.minimum(model) for model in models] == [2_048, 2_048, 2_048, 4_096]
    # The third request reads the 3,005 tokens of the second in whole steps.
    transcript = conversation(" a" * 1_434, " a" * 100, system=" a" * 1_565)
    rows = call_rows(transcript, "keep-all", cache="google", model="gemini-3-pro-preview")
    assert [(row.tokens_sent, row.tokens_cache_read) for row in rows][1:] == [(3_005, 0), (3_107, 2_048)]


@pytest.mark.parametrize(("model", "reads"), [("gemini-2.5-pro", [2_048, 3_072]), ("gemini-3-pro", [2_048, 2_048])])
def test_gemini_2_5_reads_in_smaller_steps_than_gemini_3(model: str, reads: list[int]) -> None:
    # The requests before have 3,005 and 3,107 tokens.
    transcript = conversation(" a" * 1_434, " a" * 100, " a" * 10, system=" a" * 1_565)
    rows = call_rows(transcript, "keep-all", cache="google", model=model)
    assert [row.tokens_cache_read for row in rows][-2:] == reads


def test_how_long_an_entry_lives() -> None:
    openai = load_vendor("openai").cache
    lives = [openai.lifetime(model, long=False) for model in ("o3", "gpt-4.1", "gpt-5.1-codex", "openai/gpt-5.4")]
    assert lives == [600, 600, 86_400, 86_400] and openai.lifetime("gpt-5.5", long=False) == 86_400
    assert openai.lifetime("gpt-4.1", long=True) == 86_400
    kimi = load_vendor("moonshot").cache
    assert [kimi.lifetime("kimi-k2.7-code", long=long) for long in (False, True)] == [300, 3_600]
    one = load_vendor("deepseek").cache
    assert one.lifetime("deepseek-chat", long=True) == one.lifetime("deepseek-chat", long=False) > 60, "it has but one"


def test_a_scenario_that_states_part_of_a_rate_limit_gets_the_vendors_rest() -> None:
    limit = {"tokens_per_minute": 10}
    claude = resolve({}, ("x", {"vendor": "anthropic", "reserved_output": 7, "rate_limit": limit})).rate_limit
    assert claude and not claude.counts_cache_reads and claude.reserves_max_tokens == 0
    stated = {**limit, "counts_cache_reads": True}
    claude = resolve({}, ("x", {"vendor": "anthropic", "rate_limit": stated})).rate_limit
    assert claude and claude.counts_cache_reads
    gpt = resolve({}, ("x", {"vendor": "openai", "reserved_output": 7, "rate_limit": limit})).rate_limit
    assert gpt and msgspec.to_builtins(gpt)["reserves_max_tokens"] == 7 and gpt.failed_requests_count
    none = resolve({}, ("x", {"rate_limit": limit})).rate_limit
    assert none and none.counts_cache_reads and not none.failed_requests_count


def test_rules_are_printed_with_their_sources(tmp_path: Path) -> None:
    shown = ctxsim("list", "vendors", "claude-opus-4-5", cwd=tmp_path)
    assert shown.returncode == 0
    assert "reasoning.resend" in shown.stdout and "Context editing" in shown.stdout
    assert "4096" in shown.stdout and "[claude-opus-4-7*]" not in shown.stdout, "only what holds for this model"
    everything = ctxsim("list", "vendors", cwd=tmp_path).stdout
    assert all(f"\n{name}\n    models = " in f"\n{everything}" for name in vendor_names() if name != "none")
    assert ctxsim("list", "vendors", "nobodys-model", cwd=tmp_path).returncode != 0


def test_rules_as_rows() -> None:
    rows = {(row.section, row.rule, row.model): row for row in rules_of("openai")}
    assert rows["framing", "results_apart", "*"].value == "true"
    assert (rows["framing", "schemas", "*"].value, rows["cache", "step", "*"].value) == ("0.79", "128")
    assert rows["framing", "by_model", "gpt-5*"].value.startswith("message = 5, reasoning = 3, call = 9")
    assert all(row.source and row.date for row in rows.values() if row.section != "overflow")
    # What is as it is everywhere isn't listed; a model has the rules of its pattern and those of all.
    assert ("framing", "reasoning", "*") not in rows
    models = {row.model for row in rules_of("gpt-5.5") if row.rule == "lifetime_by_model"}
    assert models == {"gpt-5.[1-5]*"} and not any(row.rule == "lifetime_by_model" for row in rules_of("gpt-4o"))


def test_deepseek_reads_the_response_too() -> None:
    assembly = Assembly("disk")
    assembly.user(LONG)
    assembly.response([Part("assistant", LONG)])
    assembly.user("next")
    assembly.response([Part("assistant", "done")])
    reads = {
        model: run(assembly.transcript(), "keep-all", cache="deepseek", model=model)[1].bill.split.read
        for model in ("deepseek-chat", "deepseek-reasoner")
    }
    # 2,001 tokens went out and about as many came back, in units of 64: 31 x 64, or 62 x 64.
    assert reads == {"deepseek-reasoner": 31 * 64, "deepseek-chat": 62 * 64}


@corpus.here
@pytest.mark.corpus
def test_what_deepseek_reads_is_right_to_one_unit() -> None:
    off = []
    for source in sources(str(corpus.FOLDER / "mini-swe-agent")):
        for transcript in read_source(source):
            if "deepseek" in transcript.model:
                calls = compare(transcript, misses="none")[1:]
                off += [abs(one.read_predicted - (one.read_recorded or 0)) // 64 for one in calls]
    assert len(off) > 240
    assert sum(units <= 1 for units in off) / len(off) > 0.8


def test_a_vendors_tool_prompt_is_that_of_the_model() -> None:
    framing = Framing(tools={"claude-3*": 300, "claude-*": 346, "source": "a page"})
    assert [framing.of_tools(model) for model in ("claude-3-opus", "claude-9", "gpt-5", "source")] == [300, 346, 0, 0]


def test_framing_differs_by_model() -> None:
    framing = Framing(message=3, call=7, by_model={"gpt-5*": {"message": 5, "source": "a page"}})
    newer = framing.of("gpt-5.1")
    assert (newer.message, newer.call) == (5, 7) and framing.of("gpt-4o") is framing


def test_a_vendor_is_shipped_a_file_or_in_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "ctxsim" / "vendors" / "ours.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[cache]\nlifetime_s = 61\n")
    assert [load_vendor(one).cache.lifetime_s for one in ("ours", str(own))] == [61, 61]
    with pytest.raises(UnknownName, match="unknown vendor 'outs'; did you mean ours"):
        load_vendor("outs")
    with pytest.raises(LabelError, match=r"no vendor file outs\.toml"):
        load_vendor("outs.toml")


def test_of_rules_that_a_vendor_changes_source_and_date_are_asked_for(tmp_path: Path) -> None:
    own = tmp_path / "ours.toml"
    own.write_text(
        'models = ["ours-*"]\n'
        '[cache]\nlifetime_s = 61\nsource = "a page"\n[rate]\ncounts_cache_reads = false\ndate = "2026-01-01"\n'
        '[framing]\nmessage = 3\nsource = "a page"\ndate = "2026-01-01"\n[overflow]\nmessage = "too long"\n'
    )
    assert vendor_gaps(str(own)) == [
        "cache names no date", "rate names no source", "overflow names no source", "overflow names no date"
    ]  # fmt: skip
    for text, gap in (
        ("", 'no rule: give one, such as cache.kind = "prefix"'),
        ('models = ["ours-*"]', 'no rule: give one, such as cache.kind = "prefix"'),
        ("windows = {big = 9}",
         'no models: only --provider can name these rules; models = ["NAME-*"] says whose they are'),
        ('models = ["ours-*"]\n[cache]\nlifetime_s = 61\nsource = "a page"\ndate = 2099-01-01',
         "cache has a date to come, 2099-01-01: give the day on which its source was read"),
    ):  # fmt: skip
        own.write_text(text)
        assert vendor_gaps(str(own)) == [gap]
