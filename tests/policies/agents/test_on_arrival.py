"""What a result becomes as it joins, agent by agent: at most its limits, and one more."""

from __future__ import annotations

import pytest
from by_hand import Driven

from ctxsim.policies.agents.codex.policy import MARK

LONG = "first line\n" + "x" * 40_000
CLINE = "a" * 3_985 + "\n...[truncated {} chars]...\n" + "b" * 3_985
COPILOT = "copilot-cli:large_output_bytes=700"
TOLD = "Output too large to show: 700 bytes are in the file tool-2.txt. Search it or view a range of it.\n\nPreview:\n"
CRUSH = "a" * 15_000 + "x" + "b" * 15_000
GEMINI = "gemini-cli:truncate_tool_output_threshold=10"
LINES = ["x" * 2_000] * 2_000
VIBE = "mistral-vibe:max_result_chars=40,excerpt_chars=10"
QWEN = "qwen-code:truncate_tool_output_threshold=5000"
QWEN_CUT = "a" * 2_000 + "\n\n... [1,001 characters in a file] ...\n\n" + "b" * 2_000


def cline(left: int) -> str:
    return "a" * 3_985 + "x" * left + "b" * 3_985


def qwen(size: int) -> str:
    return "a" * 2_500 + "b" * (size - 2_500)


@pytest.mark.parametrize(
    ("label", "tool", "text", "stays"),
    [
        # None: the whole. Seen in 2.1.330: a preview of 470 tokens and a file; here 2,000 characters and a line.
        ("claude-code", "bash", "x" * 30_000, None), ("claude-code", "Read", LONG, None),
        ("claude-code", "bash", LONG, "Output too large to show: 40,011 characters are in the file tool-2.txt.\n\n"
                                      f"Preview:\n{LONG[:2_000]}\n..."),
        ("claude-code:version=2.1.1", "bash", LONG + "end",
         f"{LONG[:15_000]}\n\n... [10,014 characters truncated] ...\n\n{'x' * 14_997}end"),
        ("cline", "bash", "a" * 8_000, None), ("cline", "bash", cline(31), CLINE.format(31)),
        ("cline", "bash", cline(12_030), CLINE.format("12,030")),
        # 40 bytes, and with the mark, which has 20, a fifth more.
        ("codex:tool_output_token_limit=10", "bash", "x" * 28 + MARK, None),
        # As 0.171.0 cuts for a model with a limit in bytes.
        ("codex:tool_output_token_limit=10", "bash", f"{'x' * 10}…133538 chars truncated…{'x' * 10}", None),
        ("codex:tool_output_token_limit=10", "bash", "x" * 29 + MARK, f"{'x' * 20}…3{MARK}{MARK}"),
        ("codex:tool_output_token_limit=10", "bash", "y" * 41, f"{'y' * 20}…1{MARK}{'y' * 20}"),
        ("continue-cli:bash_max_output_chars=10", "bash", "x" * 20 + "end",
         "(previous 13 characters truncated)\n\nxxxxxxxend"),
        ("continue-cli:bash_max_output_chars=10", "read_file", "x" * 20, None),
        # Five lines, of which 600 characters.
        (COPILOT, "bash", "x" * 699, None),
        (COPILOT, "bash", "1\n2\n3\n4\n" + "x" * 691 + "y", f"{TOLD}1\n2\n3\n4\n{'x' * 592}"),
        (COPILOT, "bash", "n\n" * 350, f"{TOLD}n\nn\nn\nn\nn"),
        ("crush", "bash", CRUSH[1:], None), ("crush", "view", CRUSH, None),
        ("crush", "bash", CRUSH, f"{'a' * 15_000}\n... [1 characters truncated] ...\n{'b' * 15_000}"),
        (GEMINI, "bash", "x" * 10, None), (GEMINI, "grep", "x" * 3_000, None),
        (GEMINI, "bash", "ab12345678X", "ab\n\n... [1 characters omitted] ...\n\n2345678X"),
        # Of a file so many lines, and so many characters of each.
        ("gemini-cli", "read_file", "\n".join(LINES), None),
        ("gemini-cli", "read_file", "\n".join(["a", "x" * 2_000 + "y", *["b"] * 1_998, "c"]),
         "\n".join(["[1 more lines]", "a", "x" * 2_000 + "... [truncated]", *["b"] * 1_998])),
        ("goose:large_text_threshold=10", "bash", "x" * 10, None),
        ("goose:large_text_threshold=10", "bash", "x" * 11,
         "The response of 11 characters is too large; it is in tool-2.txt."),
        # A line end is two characters as JSON, and two quotes stand around the text; other scripts count once.
        (VIBE, "bash", "x" * 18 + "\n" * 10, None), (VIBE, "bash", "\u00e9" * 38, None),
        (VIBE, "bash", "x" * 19 + "\n" * 10, f"xxxxx\n[... 19 characters omitted ...]\n{chr(10) * 5}"),
        (VIBE, "bash", "\u00e9" * 39, f"{chr(233) * 5}\n[... 29 characters omitted ...]\n{chr(233) * 5}"),
        ("pi:max_lines=2", "bash", "1\n2\n3\n4", "...2 lines truncated...\n\n3\n4"),
        ("pi:max_lines=2", "read", "1\n2\n3\n4", "1\n2\n\n...2 lines truncated..."),
        (QWEN, "run_shell_command", qwen(5_000), None), (QWEN, "read_file", qwen(5_000), None),
        (QWEN, "run_shell_command", qwen(5_001), QWEN_CUT), (QWEN, "grep", qwen(5_001), None),
        (QWEN, "read_file", qwen(5_001), f"{qwen(5_000)}\n[1 characters not shown]"),
        ("swe-agent", "bash", "x" * 100_000, None), ("swe-agent", "bash", "x" * 100_000 + "y", "x" * 100_000),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_what_stays_of_a_result(label: str, tool: str, text: str, stays: str | None) -> None:
    driven = Driven(label, 1_000_000)
    driven.user()
    (place,) = driven.calls(text, tool=tool)
    assert driven.text(place) == (text if stays is None else stays)
