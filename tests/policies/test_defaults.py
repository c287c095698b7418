"""What a general policy is by its name alone: the numbers of its document. And which policies are special, and how."""

from __future__ import annotations

import pytest

from ctxsim.policies import open_policy, registered_policies

AS_PUBLISHED = (
    "char-budget:chars=180000,keep_tools=10,snippet=4000,keep_turns=12",
    "clear-tool-uses:trigger=100000,keep=3,clear_at_least=0,sticky=True",
    "head-tail:lines=128,bytes=10240",
    "json-aware:chars=4000",
    "mask:keep=10,batch=1",
    "oracle-lossless:aim=tokens",
    "retry:attempts=10",
    "round-summary:every=5,max_tokens=500",
    "summary:at=0.7,keep_last=10,max_tokens=500",
    "three-layer:at=0.7,stop=0.95,keep_last=10,max_tokens=120,lines=128,bytes=10240",
    "three-triggers:only=all,reducer=counting,at=0.7,preserve=0.3,window=128000,budget=90000,target=40000,"
    "buffer=1000,messages=20,spare=5,tools_by_messages=False,estimator=output-only",
    "token-approx-budget:budget=32000,keep_tools=10,keep_turns=12,estimator=chars:ratio=3,unit=utf16",
    "token-budget:budget=40000,retain=500",
    "truncate-after-use:retain=500",
)


@pytest.mark.parametrize("label", AS_PUBLISHED, ids=lambda label: label.partition(":")[0])
def test_a_name_alone_stands_for_the_defaults(label: str) -> None:
    assert open_policy(label.partition(":")[0]).label == label


def test_what_is_special_and_how_often_a_refused_request_is_tried_again() -> None:
    known = registered_policies()
    flags = ("server_side", "bound", "per_request", "others_code", "abstract")
    assert {flag: " ".join(name for name, cls in known.items() if getattr(cls, flag)) for flag in flags} == {
        "server_side": "clear-tool-uses anthropic-compact",
        "bound": "drop-all keep-all oracle-lossless recorded",
        "per_request": "swe-agent adk-filter ag2-sliding ag2-token-limiter autogen-buffered autogen-head-tail "
        "autogen-token-limited inspect-trim-messages langchain-trim langchain-clear langmem litellm-trim "
        "llamaindex-buffer openai-trimmer openai-session-limit",
        "others_code": "",
        "abstract": "",
    }
    shipped = [cls() for cls in known.values() if cls.family in ("agents", "frameworks")]
    assert {policy.name: policy.retries for policy in shipped if policy.retries is not None} == {
        "kimi-code": 3, "roo-code": 3, "crewai-summarize": 20, "inspect-edit": 1, "inspect-trim": 1,
        "inspect-summary": 1, "deepagents": 1, "openclaw": 1, "openhands-condenser": 5, "strands-sliding": 1_000,
        "strands-summarizing": 1_000,
    }  # fmt: skip
