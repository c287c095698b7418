"""What is replayed: paths, scenarios and what is in hand, and who reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from invented import write_logs
from samples import conversation

from ctxsim.api import paths_of
from ctxsim.api.inputs import Inputs, estimator_of, given_of, inputs_of, names_scenario, open_policy, the_one
from ctxsim.counting.estimators import Estimator, open_estimator, registered_estimators
from ctxsim.errors import CtxsimError, InputError, LabelError, UnknownName
from ctxsim.policies import Policy, registered_policies
from ctxsim.policies import open_policy as open_label
from ctxsim.policies.mask import Mask
from ctxsim.synthesis import load_scenario

OWN = """title = "Mine"
description = "Small."
[synthesis]
generator = "turns"
seed = 1
[provider]
window = 9000
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_in_hand_is_that() -> None:
    made = conversation("one")
    assert inputs_of(made, window=9) == Inputs(transcript=made, overrides={"window": 9})
    scenario = load_scenario("one-prompt")
    assert inputs_of(scenario, head=300, across=True) == Inputs(scenario=scenario, head=300, across=True)
    assert [one.name for one in (inputs_of(made), inputs_of(scenario), inputs_of(["a", "b"]))] == [
        "sample", "one-prompt", "a, b"
    ]  # fmt: skip


@pytest.mark.parametrize("what", ["-", "logs", "a/one-prompt", "@list", Path("one-prompt"), "lo*", "none.json"])
def test_these_are_paths(what: Any, folder: Path) -> None:
    (folder / "logs").mkdir()
    assert inputs_of(what) == Inputs(paths=(str(what),))


def test_a_name_is_a_scenario_unless_a_file_has_it(folder: Path) -> None:
    assert inputs_of("one-prompt").scenario == load_scenario("one-prompt")
    assert names_scenario("one-prompt") and not names_scenario(Path("one-prompt")) and not names_scenario("logs")
    # What stands for paths is no misspelt name.
    assert names_scenario("one-promp") and not any(map(names_scenario, ("one-prompt*", "@one-prompt", "one-prompt.gz")))
    assert names_scenario("own.toml") and names_scenario(Path("at/own.toml"))
    (folder / "own.toml").write_text(OWN)
    made = inputs_of(Path("own.toml")).scenario
    assert made is not None and (made.title, made.provider) == ("Mine", {"window": 9_000})
    (folder / "one-prompt").mkdir()
    assert inputs_of("one-prompt") == Inputs(paths=("one-prompt",)) and not names_scenario("one-prompt")
    with pytest.raises(UnknownName, match="no file or folder nowhere, and unknown scenario 'nowhere'"):
        inputs_of("nowhere")


def test_no_path_at_all_is_told() -> None:
    with pytest.raises(CtxsimError, match="no recording to replay: the list of paths is empty"):
        inputs_of([])
    with pytest.raises(CtxsimError, match="the list of paths is empty"):
        inputs_of(iter(()))  # type: ignore[arg-type]


def test_paths_are_any_iterable() -> None:
    assert inputs_of(np.array(["a", "b"])) == inputs_of(one for one in "ab") == Inputs(paths=("a", "b"))  # type: ignore[arg-type]


def test_a_scenarios_file_that_runs_code_asks_for_trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    (folder / "own.toml").write_text(f'policies = ["mine.py:Mine"]\n{OWN}')
    with pytest.raises(InputError, match=r"mine\.py:Mine"):
        inputs_of("own.toml")
    (folder / "own.toml").write_text(OWN.replace("[provider]", "[provider]\ncache = '/abs/v.toml'"))
    with pytest.raises(InputError, match=r"/abs/v\.toml' would"):
        inputs_of("own.toml")


def test_each_recording_comes_in_its_order_and_a_number_counts_from_one(folder: Path) -> None:
    write_logs(folder / "logs", 1)
    inputs = inputs_of("logs")
    names = ["logs/chat-1.json", "logs/claude-1.jsonl", "logs/rollout-1.jsonl"]
    assert [one.transcript.name for one in inputs.each()] == names
    assert [the_one(inputs, number).transcript.name for number in (1, 2, 3)] == names
    assert the_one(inputs).transcript.name == names[0]
    with pytest.raises(CtxsimError, match="logs has fewer than 4 transcripts"):
        the_one(inputs, 4)
    assert the_one(inputs_of(["logs/rollout-1.jsonl"], head=0)).transcript.head.hidden == 0
    assert the_one(inputs_of(["logs/rollout-1.jsonl"])).transcript.head.hidden > 900
    assert the_one(inputs_of(conversation("one"))).transcript.name == "sample"
    assert the_one(inputs_of("one-prompt", window=70_000)).provider.window == 70_000


def test_a_policy_is_given_in_any_form() -> None:
    spec = open_label("mask:keep=2")
    assert open_policy(spec) is spec and open_policy("mask:keep=2").label == spec.label
    assert open_policy(Mask(keep=2)).label == spec.label and open_policy(Mask).label == open_label("mask").label
    by_words = open_label("mask", open_estimator("words")).label
    assert open_policy("mask", "words").label == open_policy(open_label("mask"), "words").label == by_words


class Undecorated(Policy):
    """Not a dataclass: labels don't know its parameter."""

    def __init__(self, keep: int = 3) -> None:
        self.keep = keep


class Unmarked(Estimator):
    """The same of estimators."""

    def __init__(self, ratio: int = 2) -> None:
        self.ratio = ratio

    def text(self, text: str) -> int:
        """Return a token for every `ratio` characters."""
        return len(text) // self.ratio


def test_an_object_whose_label_would_make_another_is_refused() -> None:
    assert open_policy(Undecorated).label == "undecorated" and estimator_of(Unmarked) == open_estimator("unmarked")
    with pytest.raises(LabelError, match="undecorated: its label would lose keep; make the class a @dataclass"):
        open_policy(Undecorated(5))
    with pytest.raises(LabelError, match="unmarked: its label would lose ratio; make the class a @dataclass"):
        estimator_of(Unmarked(5))
    # Other tests ask what is registered.
    del registered_policies()["undecorated"], registered_estimators()["unmarked"]


def test_an_estimator_is_given_in_any_form() -> None:
    words = open_estimator("words")
    assert estimator_of(None) is None and estimator_of("") is None and estimator_of("words") == words
    assert estimator_of(words) is words and estimator_of(type(words)) == words


def test_paths_are_one_or_several() -> None:
    assert paths_of("a") == ["a"] and paths_of(Path("a")) == ["a"] and paths_of(["a", Path("b")]) == ["a", "b"]
    assert paths_of(()) == []


def test_settings_are_those_of_a_file_and_of_a_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    assert given_of(None, None) == []
    (folder / "config.toml").write_text("model_auto_compact_token_limit = 90000\n")
    project = folder / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text('{"autoCompactEnabled": false}')
    (found,) = given_of(folder / "config.toml", None)
    assert (found.agent, found.key, found.value) == ("codex", "model_auto_compact_token_limit", 90_000)
    assert [one.value for one in given_of(folder / "config.toml", project)] == [False, 90_000]
    assert [one.agent for one in given_of(None, project)] == ["claude-code"]
    with pytest.raises(InputError, match="is no folder of a project"):
        given_of(None, folder / "config.toml")
