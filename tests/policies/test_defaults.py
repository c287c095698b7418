"""What a policy's name alone means: the numbers of the document that it is from."""

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
def test_a_name_alone_stands_for_the_defaults_of_its_document(label: str) -> None:
    assert open_policy(label.partition(":")[0]).label == label


def test_one_is_a_servers_and_four_are_bounds() -> None:
    parts = (".agents.", ".frameworks.")
    own = {name: cls for name, cls in registered_policies().items() if not any(one in cls.__module__ for one in parts)}
    assert [name for name, cls in own.items() if cls.server_side] == ["clear-tool-uses"]
    assert [name for name, cls in own.items() if cls.bound] == ["drop-all", "keep-all", "oracle-lossless", "recorded"]
    assert not any(cls.per_request or cls.others_code or cls.abstract for cls in own.values())
