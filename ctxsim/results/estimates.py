"""The columns of `estimates.csv`, which a sampled run has: a row for each policy and measure."""

from typing import Annotated

import msgspec

from ctxsim.results.columns import Fact, Ratio, column

Amount = column("modelled", "USD or tokens")


class EstimateRow(msgspec.Struct, frozen=True):
    """A policy's estimated amount in the folder that a sample was drawn from."""

    policy: Annotated[str, Fact, "the policy's label"]
    measure: Annotated[str, Fact, "`usd` or `tokens`"]
    keep_all: Annotated[float | None, Amount, "keep-all's amount in the folder, which is known"]
    estimated: Annotated[float | None, Amount, "the policy's amount in the folder, estimated from the sample"]
    share: Annotated[float, Ratio, "estimated / keep_all"]
    low_of_this_folder: Annotated[float | None, Ratio, "lower end of the share's 95 % interval, for this folder"]
    high_of_this_folder: Annotated[float | None, Ratio, "upper end of the share's 95 % interval, for this folder"]
