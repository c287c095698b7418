"""The table of draws: what a replay comes to where what it lost is fetched again by chance."""

from typing import Annotated

import msgspec

from ctxsim.results.columns import Dollars, Fact, Modelled, ModelledTokens, Number


class DrawRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One transcript under one policy in one draw: each thing that it lost is fetched again by chance."""

    transcript: Annotated[str, Fact, "the transcript's name"]
    policy: Annotated[str, Fact, "the policy's full label"]
    draw: Annotated[int, Number, "the draw's number, from 1"]
    inserted: Annotated[int, Modelled, "calls inserted"]
    cost_usd: Annotated[float | None, Dollars, "the dollars of all calls, the inserted ones too"]
    tokens_sent: Annotated[int, ModelledTokens, "their input"]
