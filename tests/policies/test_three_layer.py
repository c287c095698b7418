"""Three layers: limits at exactly their thresholds."""

from __future__ import annotations

from samples import RESULT, conversation, run


class TestThreeLayers:
    def test_compaction_is_asked_for_at_exactly_70_percent(self) -> None:
        # "Do the task." 3 + call "tool" 1 and "{}" 1: 5 tokens besides the result.
        below, at = (run(conversation("x" * 4 * n), "three-layer:keep_last=1", window=1_000)[-1] for n in (694, 695))
        assert not below.summary_calls and below.tokens_estimated == 699
        assert at.summary_calls == 1

    def test_it_stops_at_95_percent(self) -> None:
        # Only the newest exchange is there: nothing can be summarised away but the task.
        below, at = (
            run(conversation("x" * 4 * n), "three-layer:at=1,keep_last=9", window=1_000)[-1] for n in (944, 945)
        )
        assert below.status != "stopped" and below.tokens_estimated == 949
        assert at.status == "stopped" and "95%" in at.verdict.reason

    def test_head_summary_and_the_last_ten(self) -> None:
        sent = run(conversation(*[RESULT] * 30), "three-layer", window=4_000, summaries="empty")
        compacted = next(one for one in sent if one.summary_calls)
        groups = compacted.view.messages()
        assert groups[0][0].kind == "summary" and len(groups) in (11, 12)
        assert all(one.status == "ok" for one in sent)
        assert compacted.said and "Compacted" in compacted.said[0]
