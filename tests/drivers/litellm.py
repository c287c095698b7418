"""LiteLLM, over a conversation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from drivers.conversation import Row, requests, row_of


def litellm_trim(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`trim_messages` to 2,500 tokens."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from litellm.utils import trim_messages

    for found in requests(conversation):
        given = [{"role": "system", "content": conversation["system"]}, *found]
        yield list(map(row_of, trim_messages(given, max_tokens=2_500)[1:]))
