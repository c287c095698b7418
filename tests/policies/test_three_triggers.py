"""Three triggers: each with its own target."""

from __future__ import annotations

from samples import RESULT, conversation, run, turns

from ctxsim.policies import open_policy


class TestThreeTriggers:
    def test_its_defaults_are_the_documents(self) -> None:
        # 70 % of 128,000; 90,000 plus 1,000, down to 40,000; 20 messages and 5, by what the model wrote.
        assert open_policy("three-triggers").label == (
            "three-triggers:only=all,reducer=counting,at=0.7,preserve=0.3,window=128000,budget=90000,target=40000,"
            "buffer=1000,messages=20,spare=5,tools_by_messages=False,estimator=output-only"
        )

    def test_each_trigger_with_its_own_target(self) -> None:
        # Results of 100 tokens. percentage: over 0.7 x 1,000, keep 300; tokens: over 500 + 10, keep 200.
        sample = conversation(*[RESULT] * 12)
        for only, limit, target in (("percentage", 700, 300), ("tokens", 510, 200)):
            label = f"three-triggers:only={only},window=1000,budget=500,buffer=10,target=200,estimator=chars"
            sent = run(sample, label)
            fired = next(one for one in sent if one.compactions)
            assert fired.tokens_estimated <= target + 2 < limit, only
            assert all(one.tokens_estimated <= limit for one in sent)

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

    def test_option_d_goes_by_messages_once_there_are_tools(self) -> None:
        label = "three-triggers:window=1000,estimator=chars,tools_by_messages=true"
        sent = run(conversation(*[RESULT] * 10), label.replace("estimator=chars,", "") + ",estimator=chars")
        assert not any(one.edits for one in sent)

    def test_no_orphans(self) -> None:
        for label in ("three-triggers:messages=3,spare=0", "three-triggers:messages=3,spare=0,reducer=summarizing"):
            assert all(one.status == "ok" for one in run(turns(8, 3), label))
