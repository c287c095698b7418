"""OpenClaw's counter: four characters per token; a Chinese, Japanese or Korean character counts as several."""

import re
from collections.abc import Sequence
from functools import lru_cache

from ctxsim.counting.estimators.estimator import Estimator, length
from ctxsim.counting.estimators.serialized import if_json
from ctxsim.transcript import Item

MORE = {
    3: "\u00b7\u3000-\u319f\u4e00-\u9fa5\uac00-\ud7af\uff01-\uff60",
    11: "\u1100-\u11ff\u2e80-\u2fff\u31a0-\u4dff\u9fa6-\ua4ff\ua700-\ua707\ua960-\ua97f\ud7b0-\ud7ff\uf900-\ufaff",
    7: "\u02c7\u02c9-\u02cb\u02d9\u02ea\u02eb\u0305\u0323\ufe10-\ufe4f\uff61-\uffdc\uffe0-\uffe6",
    10: "\U0001d360-\U0001d371",
    14: "\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U0001f100-\U0001f1ff\U00020000-\U0002fa1f\U00030000-\U0003347f",
}
"""Ranges of characters by what each character counts beyond its UTF-16 units."""
WEIGHTED = {more: re.compile(f"[{ranges}]") for more, ranges in MORE.items()}


class Openclaw(Estimator):
    """ceil(weighted characters / 4) of a message: texts, names, arguments written as JSON without spaces. No head.

    openclaw/openclaw, packages/normalization-core/src/cjk-chars.ts and its compaction module (estimateTokens).
    """

    judged_at = ()
    counts_head = False

    def text(self, text: str) -> int:
        return -(-_chars(text) // 4)

    def item(self, item: Item) -> int:
        return -(-_weight(item) // 4) + sum(media.tokens for media in item.media)

    def message(self, items: Sequence[Item]) -> int:
        return -(-sum(map(_weight, items)) // 4)


def _weight(item: Item) -> int:
    if item.kind == "tool_call":
        arguments = if_json(item.text or "{}", separators=(",", ":"), ensure_ascii=False)
        return _chars(item.tool) + _chars(arguments)
    return _chars(item.text)


@lru_cache(maxsize=1 << 15)
def _chars(text: str) -> int:
    size = length(text, "utf16")
    if text.isascii():
        return size
    return size + sum(more * len(pattern.findall(text)) for more, pattern in WEIGHTED.items())
