"""Rows without words: what is hashed, numbered, emptied and kept."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from cached_replay import BIG, PRICES
from samples import ASK, TASK, chat, conversation

from ctxsim.policies import Policy, Stop, open_policies, open_policy, register, registered_policies
from ctxsim.results.run_info import Recorder
from ctxsim.runs.anonymous import tables_without_secrets, without_secrets, without_text
from ctxsim.runs.rows import Rows
from ctxsim.runs.transcript_rows import rows_of, sent_of
from ctxsim.safety.redaction import Secrets
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Head
from ctxsim.view import View

SECRET = "sk-ant-api03-" + "aB3dE6gH9jK2mN5p" * 5 + "AA"


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def rows(*labels: str, text: str = "zebra_one", **provider: Any) -> Rows:
    made = chat(TASK, ASK, ("tool_result", f"{text} " * 30), ASK, ("tool_result", "b"), ASK, ("tool_result", "c"),
                ("assistant", text))  # fmt: skip
    tools = {2: "alpha" if text == "zebra_one" else text, 4: "beta", 6: "alpha"}
    items = tuple(msgspec.structs.replace(item, tool=tools.get(item.place, item.tool)) for item in made.items)
    one = AsSent(msgspec.structs.replace(made, name="mine", items=items, project="/home/ann"), Provider(**provider))
    return rows_of(one, [open_policy(label) for label in labels], [])


def table(one: Rows, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = one.tables[name].to_pylist()
    return found


def test_names_are_hashed_tools_numbered_and_words_gone() -> None:
    was = rows("keep-all", "mask:keep=1")
    told = msgspec.structs.replace(was, parent="up", recorder=Recorder("mine", "codex", "1.2.3-of-ann", "m"))
    quiet = without_text(told, "m")
    assert (quiet.transcript, quiet.parent, quiet.words) == (hashed("mine"), hashed("up"), b"")
    assert quiet.recorder == Recorder(hashed("mine"), "codex", "1.2.3", "")
    for name in quiet.tables:
        before, after = table(was, name), table(quiet, name)
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            changed = {key: new[key] for key in new if new[key] != old[key]}
            assert changed.pop("transcript") == hashed("mine")
            tool = changed.pop("tool", old.get("tool"))
            assert tool == old.get("tool") == "" or tool is None or tool.startswith("tool ")
            assert set(changed) <= {"text", "reason", "atom"} and not any(changed.values()), (name, changed)
    tools = {old["tool"]: new["tool"] for old, new in zip(table(was, "items"), table(quiet, "items"), strict=True)}
    assert tools[""] == "" and sorted(set(tools.values()) - {""}) == [f"tool {n}" for n in range(1, len(tools))]
    assert not any(row["text"] for row in table(quiet, "items") + table(quiet, "events"))
    assert not any(row["atom"] for row in table(quiet, "needs")) and table(quiet, "needs")
    assert not any(row["reason"] for row in table(quiet, "events")) and table(quiet, "events")
    (first, *_) = quiet.summaries
    assert (first["project"], first["model"], first["version"]) == (hashed("/home/ann"), None, None)
    alone = without_text(was, "m")
    assert alone.parent is None and alone.recorder is None


def test_a_provider_is_told_without_a_model_that_nobody_lists() -> None:
    mine = {"model": "anns-own", "vendor": "openai", "origin": "recorded model anns-own, recorded model anns-own"}
    found = without_text(rows("keep-all", **mine), "anns-own").provider
    assert (found.model, found.origin) == ("a model of openai", "recorded model, recorded model anns-own")
    listed = {"model": "gpt-4o", "origin": "recorded model gpt-4o"}
    found = without_text(rows("keep-all", **listed), "gpt-4o").provider
    assert (found.model, found.origin) == ("gpt-4o", "recorded model")
    assert without_text(rows("keep-all"), "x").provider.model == ""


def test_why_a_policy_stopped_is_its_word_and_why_a_provider_refused_is_not() -> None:
    class Stops(Policy):
        """Ends at its second call."""

        def before_call(self, view: View) -> View | Stop:
            return Stop("ann said so") if len(view) > 2 else view

    register(Stops)
    try:
        was = rows("stops", window=120)
        quiet = without_text(was, "m")
    finally:
        registered_policies().pop("stops")
    assert {row["status"] for row in table(was, "calls")} >= {"stopped"}
    reasons = {(row["status"], row["reason"]) for row in table(quiet, "calls") if row["status"] != "ok"}
    assert ("stopped", "") in reasons
    large = without_text(rows("keep-all", window=60), "m")
    assert all(row["reason"] for row in table(large, "calls") if row["status"] == "overflow")
    assert any(row["status"] == "overflow" for row in table(large, "calls"))


def test_likely_keys_are_marked_in_texts_and_atoms() -> None:
    was = rows("keep-all", "mask:keep=1", text=f"the key {SECRET}")
    secrets = Secrets(row["text"] for row in table(was, "items"))
    assert secrets and SECRET in str([table(was, name) for name in ("items", "needs")])
    clean = msgspec.structs.replace(was, tables=tables_without_secrets(was.tables, secrets))
    for name in clean.tables:
        assert SECRET not in str(table(clean, name)), name
    assert [row["policy"] for row in table(clean, "calls")] == [row["policy"] for row in table(was, "calls")]


def test_a_key_in_the_name_of_a_project_is_marked_too() -> None:
    was = rows("keep-all")
    assert without_secrets(was, Secrets([])) == was
    other = msgspec.structs.replace(was, summaries=[one | {"project": f"/home/{SECRET}"} for one in was.summaries])
    (clean,) = without_secrets(other, Secrets([])).summaries
    assert clean["project"].startswith("/home/[redacted: Anthropic key] ")


def test_a_key_in_the_name_of_a_transcript_or_of_its_parent_is_marked_in_all_rows() -> None:
    was = rows("keep-all")
    for changes in ({"transcript": f"a {SECRET}"}, {"parent": f"a {SECRET}"}):
        clean = without_secrets(msgspec.structs.replace(was, **changes), Secrets([]))
        (name,) = changes
        marked = f"a [redacted: Anthropic key] {hashed(changes[name])[:8]}"
        assert getattr(clean, name) == marked
        assert {row["transcript"] for row in table(clean, "calls")} == {marked if name == "transcript" else "mine"}


def test_what_is_sent_of_ctxsims_own_policies_is_replayed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    one = AsSent(chat(TASK, ASK, ("tool_result", "a"), ("assistant", "b")), Provider())
    assert [sent.call for sent in sent_of(one, open_policy("mask"))] == [1, 2]
    heard: list[Any] = []
    monkeypatch.setattr("ctxsim.runs.own_process.sent_apart", lambda one, spec: heard.append(spec) or [])
    monkeypatch.setattr("ctxsim.runs.own_process.others", lambda spec: frozenset("x"))

    class Mine(Policy):
        """Of somebody."""

    register(Mine)
    try:
        spec = open_policy("mine+mask")
        assert list(sent_of(one, spec)) == [] and heard == [spec]
        monkeypatch.setattr("ctxsim.runs.own_process.others", lambda spec: frozenset())
        assert len(list(sent_of(one, spec))) == 2, "a class in hand is replayed here"
    finally:
        registered_policies().pop("mine")


def test_why_a_cache_did_not_hold_is_told_without_a_policys_words() -> None:
    plain = conversation(*[BIG] * 3, system=BIG)
    heads = [Head(BIG), Head(BIG, ('{"name":"a"}',)), Head(f"And now: {BIG}", ('{"name":"a"}',)), None]
    calls = tuple(msgspec.structs.replace(call, head=head) for call, head in zip(plain.calls, heads, strict=True))
    provider = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=10)
    failed: list[str] = []
    one = AsSent(msgspec.structs.replace(plain, calls=calls), provider)
    was = rows_of(one, open_policies(("keep-all", "mask:keep=1")), failed)
    told = without_text(was, "").tables["calls"].to_pandas()
    assert not failed
    assert list(told[told.policy == "keep-all"].cache_break) == [
        "", "other tools than in the request before", "another system prompt than in the request before",
        "other tools than in the request before",
    ]  # fmt: skip
    assert set(told[told.policy != "keep-all"].cache_break) - set(told[told.policy == "keep-all"].cache_break) <= {
        "edit"
    }


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"), ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101"),
        ("anns-own-model", None), ("anns-own-model-20251101", None), ("claude-opus-4-5-20251101-of-ann", None),
    ],
)  # fmt: skip
def test_a_model_that_is_listed_is_told_with_its_date_and_no_other(model: str, told: str | None) -> None:
    assert [summary["model"] for summary in without_text(rows("keep-all"), model).summaries] == [told]
