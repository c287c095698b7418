"""The four policies of issue 249, in the order of its acceptance criteria."""

from __future__ import annotations

import json

from samples import RESULT, conversation, run, turns

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies import open_policy
from ctxsim.policies.char_budget import cut
from ctxsim.policies.json_aware import MARK, truncate
from ctxsim.simulator.replay.sent import Sent
from evidence.claims import Evidence


def texts(sent: Sent, kind: str = "tool_result") -> list[str]:
    return [item.text for item in sent.view if item.kind == kind]


class TestIssue249:
    def test_budget_uses_token_approximation(self) -> None:
        # 20 results of 400 characters: 8,000 characters are 2,667 tokens by / 3. Under a budget of 2,000 those before
        # the last 10 go; by characters 8,000 is under any budget of 9,000, so nothing does.
        sample = conversation(*[RESULT] * 20)
        assert len(texts(run(sample, "token-approx-budget:budget=2000")[-1])) == 10
        assert len(texts(run(sample, "char-budget:chars=9000")[-1])) == 20
        assert len(texts(run(sample, "char-budget:chars=7000")[-1])) < 20

    def test_budget_adapts_to_the_window(self) -> None:
        sample = conversation(*[RESULT] * 20)
        assert len(texts(run(sample, "token-approx-budget:budget=0", window=2_000)[-1])) == 10
        assert len(texts(run(sample, "token-approx-budget:budget=0", window=200_000)[-1])) == 20
        assert open_policy("token-approx-budget").create()[0].budget == 32_000  # type: ignore[attr-defined]

    def test_then_all_but_the_last_turns(self) -> None:
        sent = run(turns(20), "char-budget:chars=500,keep_tools=2,keep_turns=3")[-1]
        # Two results of 400 characters stay and are still too much, so turns 17, 18 and 19 are what is left.
        assert texts(sent, "user") == ["Task 17.", "Task 18.", "Task 19."]
        assert sent.status == "ok"

    def test_char_budget_cuts_on_arrival_as_javascript_does(self) -> None:
        assert cut("ab🙂c", 3) == "ab" and cut("ab🙂c", 4) == "ab🙂"
        assert texts(run(conversation("y" * 5_000), "char-budget")[-1]) == ["y" * 4_000]

    def test_arrays_show_ends_and_count(self) -> None:
        text = json.dumps([{"n": n, "note": "word " * 30} for n in range(100)])
        after = json.loads(truncate(text, 600))
        assert after[0]["n"] == 0 and after[1] == "... (98 items omitted)" and after[2]["n"] == 99

    def test_objects_keep_their_keys_and_errors_their_beginning(self) -> None:
        text = json.dumps({"id": 7, "body": "b" * 9_000, "error": "ENOENT: no such file " * 20, "tail": [1] * 900})
        after = json.loads(truncate(text, 800))
        assert list(after) == ["id", "body", "error", "tail"] and after["id"] == 7
        assert after["error"].startswith("ENOENT: no such file ENOENT") and len(after["error"]) > 300
        assert after["body"].endswith(MARK)
        assert truncate("ERROR: " + "boom " * 2_000, 100).startswith("ERROR: boom")
        assert truncate(json.dumps("s" * 500), 50) == '"' + "s" * (48 - len(MARK)) + MARK + '"'
        many = json.loads(truncate(json.dumps({f"key_{n}": n for n in range(2_000)}), 200))
        assert next(iter(many)) == "key_0" and many["..."].endswith("keys omitted")

    def test_rounds_become_one_summary(self) -> None:
        sent = run(conversation(*[RESULT] * 12), "round-summary:every=5", summaries="empty")
        kinds = [[item.kind for item in one.view] for one in sent]
        # Call 7 has six results, five of them finished: they become one entry, the newest exchange stays.
        assert kinds[6] == ["user", "summary", "tool_call", "tool_result"]
        assert [one.call for one in sent if one.summary_calls] == [7, 12]
        assert all(one.status == "ok" for one in sent)

    def test_twenty_iterations_do_not_overflow(self) -> None:
        evidence = Evidence()
        label = "json-aware+round-summary+token-approx-budget"
        rows = evidence.calls("twenty-iterations", label)
        assert len(rows) >= 20 and all(row.status == "ok" for row in rows)
        assert any(row.status == "overflow" for row in evidence.calls("twenty-iterations", "keep-all"))

    def test_estimate_of_known_inputs(self) -> None:
        estimate = open_estimator("chars:ratio=3,unit=utf16").text
        assert [estimate(text) for text in ("", "abc", "abcd", "x" * 32_000, "🙂")] == [0, 1, 2, 10_667, 1]
        assert open_policy("token-approx-budget").label.endswith("estimator=chars:ratio=3,unit=utf16")

    def test_no_regression_for_short_conversations(self) -> None:
        for label in ("char-budget", "token-approx-budget", "json-aware", "round-summary"):
            assert not any(one.edits for one in run(conversation("one", "two", "three"), label)), label
