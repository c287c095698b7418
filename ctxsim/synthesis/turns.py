"""A conversation specified turn by turn: the number of calls, and the number, sizes and kind of text of their results.

Other generators imitate a day's work. This one makes a test case: exactly what makes a rule fail.
"""

import json
import random
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis.scenario import Session
from ctxsim.synthesis.tool_output import TOOLS
from ctxsim.synthesis.words import digits, hexadecimal, sentence
from ctxsim.transcript import Head, Media, Transcript

Tokens = Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    """A user text and the calls that follow it; sizes are approximate tokens.

    Each call makes one tool call per entry of `results`, and gets results of these sizes. `arguments`, `says` and
    `thinks` are the sizes of its arguments, text and reasoning; `image_tokens` is that of an image in each result.
    """

    user: Tokens = 40
    calls: Count = 1
    results: tuple[Tokens, ...] = (1_000,)
    arguments: Tokens = 20
    says: Tokens = 20
    thinks: Tokens = 0
    image_tokens: Tokens = 0
    content: Literal["code", "log", "json", "prose", "chinese", "digits"] = "code"


class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """`repeat`: how often the turns are played. Each user text names a code word that its tool calls repeat."""

    turns: Annotated[tuple[Turn, ...], msgspec.Meta(min_length=1)]
    head_tokens: Tokens = 500
    repeat: Count = 1


_SYLLABLES = "请求日志文件数据时间错误系统服务用户订单结果返回更新检查测试发布环境配置"

PIECES: dict[str, Callable[[random.Random], str]] = {
    "code": TOOLS["read_file"],
    "log": TOOLS["read_log"],
    "json": TOOLS["http_get"],
    "prose": lambda rng: sentence(rng) + " ",
    "chinese": lambda rng: "".join(rng.choice(_SYLLABLES) for _ in range(18)) + "。",
    "digits": lambda rng: ",".join(digits(rng, 9) for _ in range(6)) + "\n",
}


def generate(rng: random.Random, counter: Counter, wanted: Parameters) -> Transcript:
    """Return the transcript."""
    made = Session()

    def text(content: str, tokens: int) -> str:
        """About `tokens` tokens, made of pieces, the last one cut. Joining saves one or two per piece."""
        pieces: list[str] = []
        while tokens > 0:
            piece = PIECES[content](rng)
            size = counter.text(piece)
            pieces.append(piece[: max(1, len(piece) * min(size, tokens) // size)])
            tokens -= size
        return "".join(pieces)

    for number, turn in enumerate(wanted.turns * wanted.repeat):
        code = f"{rng.choice(('NV', 'QT', 'RS'))}-{hexadecimal(rng, 6)}"
        made.user(f"Task {number + 1}, filed as {code}. {text('prose', turn.user)}")
        for step in range(turn.calls):
            thoughts = text("prose", turn.thinks)
            said = text("prose", turn.says) or ("" if turn.thinks or turn.results else "Done.")
            asked = [{"step": f"{code}/{step}", "note": text("prose", turn.arguments)} for _ in turn.results]
            made.respond(said, "lookup", *map(json.dumps, asked), thoughts=thoughts)
            media = (Media("image", turn.image_tokens),) if turn.image_tokens else ()
            made.result(*(text(turn.content, size) for size in turn.results), media=media)
        if turn.results:
            made.respond(f"Task {number + 1} is done.")
    return made.transcript(Head(text("prose", wanted.head_tokens)))
