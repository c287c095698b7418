"""`check setting` with probes that are written by hand: which are made, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from probed_agent import agent

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent, Probing, load_agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe import check
from ctxsim.live.probe.check import SettingCheck, check_setting
from ctxsim.live.probe.drive import with_settings
from ctxsim.live.probe.expected import Situation, cut_to, expected, policy_of
from ctxsim.live.probe.plan import Probed, Sent
from ctxsim.live.probe.verdict import Awaited, Found, Seen, holds, verdict
from ctxsim.policies.agents.given import known_setting

LIMIT = "model_auto_compact_token_limit"
SCOPE = "model_auto_compact_token_limit_scope"
CUT = "tool_output_token_limit"


def main(*tokens: int, refused: bool = False, largest: int = 0) -> tuple[Sent, ...]:
    return tuple(Sent("main", one, one, one, refused, 20, 1_000, largest) for one in tokens)


def summed(*before: int) -> Probed:
    """It sent these, then asked for a summary and went on with 3,000 tokens: the last one is known by a leap."""
    return Probed((*main(*before), Sent("summary", before[-1] + 1_000, 0, 0), *main(3_000)), 1.5, True)


NOTHING = Probed(main(8_000, 9_000), 0.5, True)

Made = Callable[..., tuple[SettingCheck, list[Any]]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """A check whose probes give these in turn; and what each probe was asked for."""

    def run(probes: list[Any], given: dict[str, Value], one: Agent | None = None, **more: Any) -> Any:
        asked: list[Any] = []

        def probe(here: Situation, programs: str, given: Any, points: Any, **how: Any) -> Probed:
            asked.append((points, {key: value for key, value in how.items() if value is not False}))
            assert programs == "/bin"
            assert (here.model, here.window) == (more.get("model", "mock"), more.get("window", 272_000))
            found = probes[len(asked) - 1]
            if isinstance(found, Exception):
                raise found
            assert isinstance(found, Probed)
            return found

        monkeypatch.setattr(check, "probe", probe)
        return check_setting(one or agent(), "/bin", given, **more), asked

    return run


def test_a_threshold_is_looked_for_around_each_place_where_it_may_be(made: Made) -> None:
    done, asked = made([summed(58_000, 58_500, 59_000)], {LIMIT: 60_000})
    # With the limit 60,000, without it 0.9 of 272,000; and 1.05 of the window ends it.
    assert asked == [((60_000, 244_800, 285_600), {})]
    assert done == SettingCheck(
        agent="codex", version="0.1.0", model="mock", key=LIMIT, value=60_000, beside={}, verdict="honoured",
        firing="proactive", lower=59_000, upper=60_020, expected=60_000, expected_firing="proactive", inside=True,
        unit="tokens", window=272_000, first=0, calls=5, seconds=1.5, offline=True, needs=(),
        cap="0.9 of the window", formula="0.9 of the window",
    )  # fmt: skip


def test_an_agent_that_does_not_compact_is_asked_once_more_in_a_window_that_refuses(made: Made) -> None:
    done, asked = made([NOTHING, NOTHING], {LIMIT: 60_000})
    assert asked[1] == ((60_000, 244_800, 272_000), {"refuses": 272_000})
    assert (done.verdict, done.firing, done.lower, done.upper, done.calls, done.seconds) == (
        "never", "never", None, None, 4, 1.0,
    )  # fmt: skip
    refused = Probed((*main(8_000), *main(9_000, refused=True), Sent("summary", 1, 1, 1)), 1.0, False)
    done, _ = made([NOTHING, refused], {LIMIT: 60_000})
    assert (done.verdict, done.offline) == ("only after a refusal", False)


@pytest.mark.parametrize(("width", "first"), [(1_000, 30_000), (2_000, 79_000)])
def test_where_nobody_expects_it_it_is_looked_for_coarsely_then_finely(made: Made, width: int, first: int) -> None:
    # It leapt over the place: of what it was seen at a fortieth is a step, a thousand at least.
    upper = first + 1_020
    probes = [summed(20_000, first), summed(first - 2 * width, first - width), summed(26_000, 26_500, 27_000)]
    done, asked = made(probes, {LIMIT: 200_000})
    step = max(1_000, upper // 40)
    coarse = max(first - 2 * width + 20, 0)
    assert asked[0][0] == (200_000, 244_800, 285_600)
    assert asked[1] == ((0,), {"fine": step, "past": upper + step})
    # The second run's bracket begins at the request before its last one, with what came of it.
    lower = probes[1].bracket("sent")
    assert lower is not None and coarse <= lower[0]
    assert asked[2] == ((lower[0] + 4_000,), {"past": 2 * step})
    assert (done.lower, done.upper, done.verdict, done.calls) == (27_000, 28_020, "unclear", 4)
    # Where the fine run shows nothing, the coarse one holds; where neither does, the first.
    done, _ = made([*probes[:2], NOTHING], {LIMIT: 200_000})
    assert (done.lower, done.upper) == lower
    done, asked = made([probes[0], NOTHING], {LIMIT: 200_000})
    assert ((done.lower, done.upper), len(asked)) == ((first, upper) if first < 21_020 else (21_020, upper), 2)


def test_the_count_of_an_agent_that_counts_by_itself_is_met_less_closely(made: Made) -> None:
    own = agent(Probing(window=272_000, counts="own"))
    # A leap is no reason to look again: its requests grow as they can. Brackets are wider by half a per cent.
    done, asked = made([summed(50_000, 60_000)], {LIMIT: 60_000}, own)
    # 51,020 * 0.995 = 50,764.9 and 61,020 * 1.005 = 61,325.1.
    assert (done.lower, done.upper) == (50_764, 61_326)
    assert asked == [((60_000, 244_800, 285_600), {})]


def test_a_limit_beside_the_first_request_is_known_once_that_was_sent(made: Made) -> None:
    first = Probed(main(3_000, 9_000), 1.0, True)
    done, asked = made([first, summed(66_000, 66_500, 68_500)], {LIMIT: 60_000, SCOPE: "body_after_prefix"})
    # The largest that was accepted is taken for the first: 9,000 and 60,000; without the limit 9,000 and 244,800.
    assert [points for points, _ in asked] == [(0,), (69_000, 253_800, 285_600)] and asked[1][1] == {"late": True}
    assert (done.first, done.expected, done.lower, done.upper, done.beside) == (
        9_000, 69_000, 67_520, 69_520, {SCOPE: "body_after_prefix"},
    )  # fmt: skip


def test_the_window_that_is_set_is_the_one_that_ends_it(made: Made) -> None:
    done, asked = made([NOTHING, NOTHING], {"model_context_window": 100_000})
    # 90,000 with it, 244,800 without: the probe goes 3,000 past the last of them and one more.
    assert asked == [((90_000, 244_800, 247_801), {}), ((90_000, 100_000), {"refuses": 100_000})]
    assert (done.expected, done.window) == (90_000, 272_000)


@pytest.mark.parametrize(
    ("value", "size", "left", "found"),
    [
        # 1,000 tokens of 4 bytes are left of 20,000 characters; as many as are there of a smaller result.
        (1_000, 20_000, 4_100, "honoured"), (1_000, 20_000, 10_300, "ignored"), (1_000, 20_000, 19_000, "unclear"),
        # 30,000 tokens leave all 19,930 characters of it.
        (30_000, 20_000, 19_000, "unclear"), (30_000, 20_000, 19_400, "honoured"),
        # What holds without it differs at no size: the largest is tried.
        (2_500, 160_000, 10_024, "ignored"),
    ],
)  # fmt: skip
def test_a_cut_is_looked_for_by_a_large_result(made: Made, value: int, size: int, left: int, found: Found) -> None:
    probed = Probed(main(3_000, 9_000, largest=left), 1.0, True)
    done, asked = made([probed], {CUT: value})
    assert asked == [((), {"single": size})]
    assert (done.unit, done.lower, done.upper, done.firing) == ("characters", left, left, "proactive")
    assert done.verdict == found and done.calls == 2


@pytest.mark.parametrize(
    ("given", "before", "found"),
    [
        # Two per cent less of 249,795 are 244,799, which is under the cap of 244,800; of one more they aren't.
        ({LIMIT: 249_795}, (243_000, 243_900, 244_500), "honoured"),
        ({LIMIT: 249_796}, (243_000, 243_900, 244_500), "capped"),
        # Of 1 it is nothing, which can't be set; two per cent more is 2.
        ({LIMIT: 1}, (3_000,), "honoured"),
        # What is the default anyway does what it says.
        ({SCOPE: "total"}, (243_000, 243_900, 244_500), "honoured"),
    ],
)  # fmt: skip
def test_another_value_nearby_tells_a_cap_from_a_setting(
    made: Made, given: dict[str, Value], before: tuple[int, ...], found: Found
) -> None:
    assert made([summed(*before), NOTHING, NOTHING], given)[0].verdict == found


@pytest.mark.parametrize("value", [True, 1, "true"])
def test_a_variable_that_is_a_switch_is_on_by_a_word_or_a_number(made: Made, value: Value) -> None:
    on = {"DISABLE_COMPACT": value}
    done, _ = made([NOTHING, NOTHING], on, load_agent("claude-code"), model="claude-opus-5-5", window=1_000_000)
    assert (done.verdict, done.inside, done.expected_firing) == ("honoured", True, "never")


def test_a_refusal_to_start_is_a_verdict_where_the_value_is_refused(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = CtxsimError("sent nothing")
    with pytest.raises(CtxsimError, match="sent nothing"):
        made([error], {LIMIT: 60_000})
    monkeypatch.setattr(check, "departure", lambda one, value: "refused")
    done, _ = made([error], {LIMIT: 60_000})
    assert (done.verdict, done.firing, done.calls, done.seconds) == ("refused", "not run", 0, 0)


def test_without_a_model_and_a_window_they_are_the_agents(made: Made) -> None:
    one = agent(Probing(windows={"mock-[1m]": 1_000_000, "mock*": 300_000}))
    with pytest.raises(CtxsimError, match="codex: no window is known for other; give --window TOKENS"):
        check_setting(one, "/bin", {LIMIT: 1}, model="other")
    done, _ = made([NOTHING, NOTHING], {LIMIT: 60_000}, one, window=100_000)
    assert (done.window, done.model) == (100_000, "mock")


def test_an_agent_that_is_told_no_model_is_checked_with_none_of_the_users() -> None:
    with pytest.raises(CtxsimError, match="codex is run with the model 'mock' only; leave out --model gpt-6"):
        check_setting(agent(), "/bin", {LIMIT: 60_000}, model="gpt-6")
    names = ("codex", "kimi-code", "gemini-cli", "claude-code")
    assert [load_agent(name).takes_model for name in names] == [False, True, True, True]


@pytest.mark.parametrize(("model", "window"), [("Mock-[1M]", 1_000_000), ("mock-x", 300_000), ("MOCK", 300_000)])
def test_windows_by_pattern_from_specific_to_general(model: str, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = agent(Probing(windows={"mock-[1m]": 1_000_000, "mock*": 300_000}))
    monkeypatch.setattr(check, "probe", lambda *given, **more: NOTHING)
    assert check_setting(one, "/bin", {LIMIT: 60_000}, model).window == window


def test_settings_are_written_where_an_agent_reads_them() -> None:
    written = with_settings(Agent("codex"), {LIMIT: 5}, "m")
    assert (written.files, written.env) == ({".codex/config.toml": f"{LIMIT} = 5\n"}, {})
    mine = Agent("codex", files={".codex/config.toml": "w = {window}\no = {output}\ns = {share}\n"}, env={"A": "1"})
    written = with_settings(mine, {LIMIT: 5}, "m")
    # What is filled in later stays a place.
    assert written.files == {".codex/config.toml": "w = {window}\no = {output}\ns = {share}\n" + f"{LIMIT} = 5\n"}
    assert (written.env, mine.files[".codex/config.toml"].count("\n")) == ({"A": "1"}, 3)
    placed = msgspec.structs.replace(mine, files={}, probe=Probing(keys={LIMIT: ("a", "b")}))
    assert with_settings(placed, {LIMIT: 5}, "m").files == {".codex/config.toml": "[a]\nb = 5\n"}
    claude = with_settings(Agent("claude-code"), {"DISABLE_COMPACT": False, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": 7}, "m")
    assert claude.files == {} and claude.env == {"DISABLE_COMPACT": "false", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "7"}
    assert known_setting("codex", LIMIT).key == LIMIT
    with pytest.raises(CtxsimError, match=f"codex has no setting '{LIMIT}s'; did you mean {LIMIT}"):
        known_setting("codex", f"{LIMIT}s")


# verdicts at their limits


@pytest.mark.parametrize(
    ("seen", "awaited", "inside"),
    [
        (Seen("proactive", (59, 60)), Awaited("proactive", 60), True),
        (Seen("proactive", (60, 61)), Awaited("proactive", 60), False),
        (Seen("proactive", (58, 59)), Awaited("proactive", 60), False),
        (Seen("proactive", (0, 5)), Awaited("proactive", -9), True),
        (Seen("proactive", (1, 5)), Awaited("proactive", -9), False), (Seen("never"), Awaited("never"), True),
        (Seen("never"), Awaited("proactive", 60), False), (Seen("proactive", (1, 2)), Awaited("never"), False),
        # Up to 600 characters, or 3 % of what should be left: 1,200 of 40,000.
        (Seen("proactive", None, 5_600), Awaited("proactive", None, 5_000), True),
        (Seen("proactive", None, 4_399), Awaited("proactive", None, 5_000), False),
        (Seen("proactive", None, 41_201), Awaited("proactive", None, 40_000), False),
        (Seen("proactive", None, 38_800), Awaited("proactive", None, 40_000), True),
        (Seen("proactive", None, 10), Awaited("proactive"), False),
    ],
)  # fmt: skip
def test_what_was_seen_is_what_was_expected(seen: Seen, awaited: Awaited, inside: bool) -> None:
    assert holds(seen, awaited) is inside


AT, OTHER, NEVER = Awaited("proactive", 60), Awaited("proactive", 90), Awaited("never")
SEEN = Seen("proactive", (59, 60))


def judged(seen: Seen, *asked: Any) -> Found:
    """A verdict, of a value that is used as it is, without a cap and other keys, unless those are given."""
    return verdict(seen, *asked, *("", False, ())[len(asked) - 3 :])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((AT, OTHER, True, "clamped", False, ("x",)), "clamped"), ((AT, AT, True, "", False, ("x",)), "needs more"),
        ((AT, OTHER, True, "", False, ("x",)), "honoured"), ((AT, OTHER, True, "ignored"), "ignored"),
        ((AT, OTHER, False), "capped"), ((AT, AT, False, "", True), "capped"),
        ((AT, AT, False), "ignored"),
        ((AT, AT, True), "honoured"), ((OTHER, AT, True, "", False, ("x",)), "needs more"),
        ((OTHER, AT, True), "ignored"), ((OTHER, OTHER, True), "unclear"),
        ((OTHER, NEVER, True), "unclear"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_proactive_agent(asked: tuple[Any, ...], found: Found) -> None:
    assert judged(SEEN, *asked) == found


def test_what_is_said_of_one_that_never_compacts() -> None:
    seen = Seen("never")
    assert judged(seen, NEVER, NEVER, False, "", True) == "ignored"
    assert judged(seen, NEVER, AT, False) == "capped"
    assert judged(seen, AT, OTHER, False) == "never"
    assert judged(Seen("only after a refusal"), AT, OTHER, False) == "only after a refusal"
    assert judged(Seen("never", None, 7), AT, OTHER, False) == "unclear"


# what a policy's formula expects

CODEX = Situation(agent(), "mock", 272_000)


@pytest.mark.parametrize(
    ("given", "awaited"),
    [
        ({}, Awaited("proactive", 244_800)), ({LIMIT: 60_000}, Awaited("proactive", 60_000)),
        # The cap is 0.9 of the window; the window that is set is another one.
        ({LIMIT: 300_000}, Awaited("proactive", 244_800)),
        ({"model_context_window": 100_000}, Awaited("proactive", 90_000)),
        ({LIMIT: 60_000, "model_context_window": 50_000}, Awaited("proactive", 45_000)),
        # What isn't of its type, and the default, change nothing.
        ({LIMIT: "60000"}, Awaited("proactive", 244_800)),
    ],
)  # fmt: skip
def test_the_threshold_that_a_policy_expects(given: dict[str, Value], awaited: Awaited) -> None:
    assert expected(CODEX, given) == awaited


def test_a_window_is_taken_up_to_the_most_that_the_agent_takes() -> None:
    most = msgspec.structs.replace(agent().probe, window_most=80_000)
    here = Situation(agent(most), "mock", 272_000)
    for window, threshold in ((100_000, 72_000), (70_000, 63_000)):
        assert expected(here, {"model_context_window": window}) == Awaited("proactive", threshold)


def test_the_output_of_a_policy_is_what_the_probe_declares() -> None:
    opencode = load_agent("opencode")
    here = Situation(opencode, "mock", 200_000)
    policy = policy_of(here, {}, True)
    assert policy is not None and getattr(policy, "output", opencode.probe.output) == opencode.probe.output
    assert policy_of(Situation(Agent("kilo-code"), "mock", 200_000), {}, True) is None


def test_what_a_policy_leaves_of_a_large_result() -> None:
    text = "x" * 20_000
    assert cut_to(CODEX, {CUT: 1_000}, text, "bash") == pytest.approx(4_000, abs=100)
    assert cut_to(CODEX, {CUT: 9_000}, text, "bash") == 20_000
    assert cut_to(Situation(Agent("kilo-code"), "mock", 200_000), {}, text, "bash") is None
    # More than the agent takes is the most that it takes: 128,000 characters.
    claude, long = Situation(load_agent("claude-code"), "mock", 200_000), "x" * 150_000
    assert cut_to(claude, {"bashOutputMaxChars": 200_000}, long, "Bash") == cut_to(
        claude, {"bashOutputMaxChars": 128_000}, long, "Bash"
    )
