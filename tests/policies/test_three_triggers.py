"""Three triggers: each with its own target."""

from __future__ import annotations

from samples import RESULT, conversation, run, turns


class TestThreeTriggers:
    def test_messages_over_20_and_5_reduce_to_20(self) -> None:
        sent = run(conversation(*["r"] * 30), "three-triggers")
        sizes = [len(one.view.messages()) for one in sent]
        # 1 + 2 messages per call: call 13 has 25, which is not over; call 14 would have 27.
        assert sizes[12] == 25 and sizes[13] in (20, 21) and max(sizes) == 25

    def test_its_tracking_does_not_see_results(self) -> None:
        label = "three-triggers:only=percentage,window=1000"
        assert not any(one.edits for one in run(conversation(*[RESULT * 5] * 12), label))
        assert any(one.edits for one in run(conversation(*[RESULT * 5] * 12), f"{label},estimator=tool-chars"))

    def test_only_what_came_after_the_last_summary_counts(self) -> None:
        label = "three-triggers:only=messages,messages=4,spare=2,reducer=summarizing"
        sent = run(conversation(*[RESULT] * 12), label, summaries="empty")
        made = [edit.after for one in sent for _, edit in one.edits if edit.before is None and edit.after]
        sources = [place for item in made for place in item.sources]
        assert len(made) > 2 and len(sources) == len(set(sources)), "nothing is summarised twice"
        assert sum(item.kind == "summary" for item in sent[-1].view) == len(made)

    def test_no_orphans(self) -> None:
        for label in ("three-triggers:messages=3,spare=0", "three-triggers:messages=3,spare=0,reducer=summarizing"):
            assert all(one.status == "ok" for one in run(turns(8, 3), label))
