"""Recorded sessions with a compaction, whose needs can be counted by hand."""

from __future__ import annotations

import json

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Transcript, Usage

MODEL = "claude-sonnet-4-5"
"""Requests over 200,000 tokens cost more: output 1.5 times as much, input twice."""

SUMMARY = "We found the order ord-77881 and go on."


def session(summary: str = SUMMARY, kept: tuple[int, ...] = ()) -> Transcript:
    """Three calls, a compaction, three calls. Of what calls 4 to 6 use, the history before it has:

    ord-77881 (the summary holds it), zz99887 (it doesn't), abc12345 (nor that; the agent had repeated it in call 2),
    kk55443 (nor that; call 5 gets it a second time before call 6 uses it).
    fresh00017 was never behind it. Call 6 repeats call 5, which is no call from before.
    """
    made = Assembly("hand")
    made.user("Do the task.")
    look(made, 1, {"file_path": "src/alpha.py"}, "token abc12345 order ord-77881 value zz99887")
    look(made, 2, {"file_path": "src/gamma.py"}, "key kk55443", "The token is abc12345.")
    made.response([Part("assistant", "So far so good.")], Usage(9_000, 20))
    made.compacted("auto", [summary] if summary else [], kept, tokens_before=9_500)
    text = "Now ord-77881 with zz99887 and abc12345."
    look(made, 4, {"file_path": "src/alpha.py"}, "the same file again", text)
    look(made, 5, {"file_path": "src/gamma.py", "offset": 10}, "key kk55443 and fresh00017")
    look(made, 6, {"file_path": "src/gamma.py", "offset": 10}, "as before", "It is kk55443, not fresh00017.")
    return made.transcript()


def look(made: Assembly, number: int, arguments: dict[str, object], result: str, text: str = "") -> None:
    said = [Part("assistant", text)] if text else []
    made.response([*said, Part("tool_call", json.dumps(arguments), "Read", f"c{number}")], Usage(1_000 * number, 20, 0))
    made.result(result, f"c{number}")


def long_session(calls: int = 60, at: int = 30, back: int = 4, apart: int = 1_000) -> Transcript:
    """Each call uses what the one `back` calls before it listed; those that are `apart` ask the same."""
    made = Assembly("long")
    made.user("Do the task.")
    for number in range(1, calls + 1):
        if number == at:
            made.compacted("auto", ["A summary of what came before: id-20011 matters."])
        result = "\n".join(f"row id-{number}{n:04} of the listing" for n in range(20))
        text = f"Next id-{number - back}0011 and so on."
        made.response(
            [Part("assistant", text), Part("tool_call", json.dumps({"n": number % apart}), "list", f"c{number}")]
        )
        made.result(result, f"c{number}")
    return made.transcript()
