"""Nothing of a transcript where nobody wants it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pandas
from pages import words_of
from samples import ASK, chat

from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.report.page import write_page
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting


def test_without_text_no_word_of_a_transcript_is_in_the_results(tmp_path: Path) -> None:
    secrets = [
        "zebra_secret_one",
        "quaint velvet harpsichord melodies drift",
        "src/hidden/vault_9f3.py",
        "peculiar_tool",
    ]
    result = "\n".join([*secrets[:3], "more " * 200])
    made = chat(
        ("user", "please find " + secrets[1]), ASK, ("tool_result", result), ASK, ("tool_result", "ok"),
        ("assistant", " ".join(secrets[:3])),
    )  # fmt: skip
    tools = [msgspec.structs.replace(item, tool="peculiar_tool" if item.tool else "") for item in made.items]
    named = msgspec.structs.replace(made, name="t", items=tuple(tools))
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(lines(named)))
    policies = ("keep-all", "mask:keep=1", "token-budget:budget=1,retain=60", "summary:at=0.0001,keep_last=1")
    for text in (True, False):
        out = tmp_path / f"out{text}"
        conduct(Setting("t", "t", policies, text=text), out, paths=[str(tmp_path / "t.jsonl")])
        write_page(read_run(out), out / "report.html")
        found = " ".join(file.read_text() for file in out.iterdir() if file.suffix in (".json", ".csv"))
        found += words_of(out / "report.html")
        found += " ".join(pandas.read_parquet(file).to_csv() for file in out.glob("*.parquet"))
        words = [line for secret in secrets for line in (secret, secret.split(" ")[-1])]
        assert [word for word in words if word in found] == (words if text else [])
    before, after = (read_run(tmp_path / f"out{text}").summary for text in (True, False))
    # Names are numbers there, and chance isn't told without the words of others.
    named = ["chance_rate", "transcript", "root"]
    pandas.testing.assert_frame_equal(before.drop(columns=named), after.drop(columns=named))
