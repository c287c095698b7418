"""What is known of agents' settings, as rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.api import settings as room
from ctxsim.api.settings import SettingRow, Settings, settings
from ctxsim.errors import CtxsimError
from ctxsim.policies.agents.settings import Number, Rule, Setting, Verdict

RULES = (Rule(200_000.0, ">=2", "big-*"), Rule(1_000, ">=1"), Rule("unset", as_parameter=50))

ENTRIES = {
    "mine": (
        Number(
            key="reserve", source="a.ts", default=RULES, unit="tokens", parameter="reserve", policy="other", note="n"
        ),
        Setting(
            key="limit", source="b.ts", default=(Rule(True),), parameter="at", type="int", file="config.toml",
            env="LIMIT", bounds=(1, 9_000.0), words=("auto", "off"), outside="clamped", cap="90 %", precedence=2,
            needs=("a", "b"), opposite=True,
            honoured=(Verdict("honoured", versions=">=2", models="big-*", note="once"), Verdict("ignored")),
        ),
    ),
    "other": (Setting(key="Mode", source="c.ts", type="choice", choices=("x", "y"), env="MODE"),),
}  # fmt: skip


@pytest.fixture(autouse=True)
def two_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "settings_names", lambda: list(ENTRIES))
    monkeypatch.setattr(room, "settings_of", lambda name: SimpleNamespace(entries=ENTRIES[name]))


RESERVE = SettingRow(
    agent="mine", kind="number", key="reserve", unit="tokens", default="1,000",
    defaults="200,000 (>=2 big-*); 1,000 (>=1); unset, which is 50", policy="other", parameter="reserve",
    source="a.ts", note="n",
)  # fmt: skip
LIMIT = SettingRow(
    agent="mine", kind="setting", key="limit", where="config.toml, $LIMIT", type="int", unit="",
    bounds="1 to 9,000 or auto or off", outside="clamped", cap="90 %", needs="a, b", precedence=2, default="true",
    defaults="", policy="mine", parameter="at", opposite=True, honoured="honoured (>=2, big-*, once); ignored",
    source="b.ts", note="",
)  # fmt: skip
MODE = SettingRow(
    agent="other", kind="setting", key="Mode", where="$MODE", type="choice", unit="", bounds="x/y", default="",
    defaults="", policy="", parameter="", honoured="not yet seen", source="c.ts", note="",
)  # fmt: skip


def test_a_row_says_all_that_is_known_of_a_key() -> None:
    assert settings().rows == [RESERVE, LIMIT, MODE] and settings() == Settings([RESERVE, LIMIT, MODE])
    assert settings("MINE").rows == [RESERVE, LIMIT]
    assert settings("mo?e").rows == [MODE], "where no agent is called so it is a key"
    assert settings("*").frame().key.tolist() == ["reserve", "limit", "Mode"]
    with pytest.raises(CtxsimError, match="no agent and no setting fits 'nobody'"):
        settings("nobody")


@pytest.mark.parametrize(
    ("value", "said"), [(True, "true"), (False, "false"), (4.0, "4"), (1_234_567.0, "1,234,567"), (0.85, "0.85"),
                        (12_000, "12,000"), ("auto", "auto")],
)  # fmt: skip
def test_a_default_is_written_as_people_do(value: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENTRIES, "other", (Setting(key="a", source="", default=(Rule(value),)),))
    assert settings("other").rows[0].default == said
