"""Likely keys: found by their form, redacted wherever a run would show them, and left where somebody asks for it."""

from __future__ import annotations

import time
from base64 import b64encode
from pathlib import Path

import pandas
import pytest
from command_line import ctxsim
from hypothesis import example as case
from hypothesis import given
from hypothesis import strategies as st
from pages import words_of
from samples import ASK, chat

from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.report.page import write_page
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.safety.redaction.keys import FORMS, PRIVATE_KEY, Found, Secrets, _apart, kind_of, likely_keys, marked
from ctxsim.safety.redaction.keys import lines as lines_of_key

BODY = "Q7wErTy9uIoPaSdFgHjKlZxCvBnM4q2WeRtYuIoPaSdFgHjKlZxCvBnM5Q7wErTy9uIoP"
"""Invented. Put behind a prefix at run time only: no file of the project looks like a key."""

HEX = "3f9a07c1d25be884" * 4
TOKEN = "ghp" + "_" + BODY[:36]
PEM = "\n".join(
    (f"-----BEGIN RSA {PRIVATE_KEY.upper()}-----", BODY[:60], BODY[3:63], f"-----END RSA {PRIVATE_KEY.upper()}-----")
)


def example(prefix: str, issuer: str, character: str) -> str:
    """A key of the form, all letters where it has no digits."""
    if issuer == "JSON web token":
        return f"{prefix}hbGciOiJI.eyJzdWIiOiIx.{BODY[:40]}"
    if prefix in ("AKIA", "ASIA", "ABIA", "ACCA"):
        return prefix + "QWERTYUIOPASDFGH"
    if issuer in ("Airtable", "Resend"):
        return prefix + BODY[: 14 if issuer == "Airtable" else 8] + "._"[issuer == "Resend"] + HEX
    if character in ("[a-f0-9]", "[A-Fa-f0-9]", "[a-f0-9-]"):
        return prefix + HEX * (2 if issuer == "Cloudflare" else 1)
    if character == "[a-z0-9]":
        return prefix + BODY.lower()
    if prefix in ("ABSK", "EAAM", "EAAC"):
        return prefix + 2 * BODY
    if character.startswith("[A-Z0-9"):
        return prefix + BODY.upper()
    letters = "".join(filter(str.isalpha, BODY)) if character == "[A-Za-z]" else BODY
    return prefix + letters[:35] if prefix == "AIza" else prefix + letters


@pytest.mark.parametrize("around", ["{}", "KEY={}", '{{"key": "{}"}}', "line\\n{}\\nline", "(see {}).", "Bearer {}\n"])
def test_keys_of_every_form_are_found_whole_and_by_their_issuer(around: str) -> None:
    for form in FORMS:
        for prefix in form.prefixes:
            key = example(prefix, form.issuer, form.character)
            ((issuer, start, end),) = likely_keys(around.format(key))
            assert (issuer, around.format(key)[start:end]) == (form.issuer, key)
    found = likely_keys(around.format(PEM))
    assert [around.format(PEM)[one.start : one.end] for one in found] == [PEM]


LEAST = {
    8: "eyJ", 12: "FLWSECK_TEST-", 16: "sk-ant- sk-proj- AKIA sk_live_ tskey-auth- sm_aat_", 19: "NRAK-",
    20: "glpat- xoxb- LTAI", 22: "sq0atp- fw_", 24: "GOCSPX- dckr_pat_ sb_secret_", 25: "API-", 28: "rnd_", 29: "re_",
    30: "ghp_ github_pat_ hf_ bedrock-api-key- tvly-", 31: "SK0",
    32: "sk- dapi glc_ pscale_tkn_ shpat_ p8e- ico- key- lsv2_pt_ crsr_ fc-", 35: "AIza",
    36: "npm_ r8_ lin_api_ pnu_ access-sandbox- bkua_ e2b_ figd_ pat-na1- sk-lf- nfp_", 38: "4b1d",
    40: "ya29. pypi-AgE gsk_ pplx- dp.pt. ntn_ pul- duffel_test_ shippo_live_ sgp_ sbp_ csk- CCIPAT_ CFPAT- sk_ AQ. "
        "1//0 nvapi- phx_ squ_ tgp_v1_ vcp_ vercel_blob_rw_ pa-",
    43: "fo1_ sha256~ secret_", 44: "tk-us-", 48: "rubygems_ jina_ napi_", 50: "PMAK- sntrys_ HRKU-AA pk.eyJ pcsk_",
    54: "EZAK", 55: "CLOJARS_", 56: "tfp_ AKCp EAAA", 58: "AGE-SECRET-KEY-1",
    60: "SG. xai- doo_v1_ hvs. rdme_ sntryu_ xkeysib- ATATT3 ops_eyJ fio-u- dt0c01. wandb_v1_ key_", 75: "pat",
    100: "ABSK EAAM", 120: "v1.0-",
}  # fmt: skip
"""Characters behind a form's first prefix from which on it is a key: what issuers say, and gitleaks by its rules' names
(config/gitleaks.toml, 009e025), a little less where recordings cut.
"""


def test_a_key_has_so_many_characters_at_least() -> None:
    assert {prefix for some in LEAST.values() for prefix in some.split()} == {form.prefixes[0] for form in FORMS}
    of = {form.prefixes[0]: form for form in FORMS}
    for least, prefixes in LEAST.items():
        for prefix in prefixes.split():
            form = of[prefix]
            whole = example(prefix, form.issuer, form.character)
            # Behind a web token's two dots come so many of its third part.
            before = whole.rindex(".") + 1 if prefix == "eyJ" else len(prefix)
            for many, known in ((least, True), (least - 1, False)):
                key = whole[: before + many]
                found = [(one.issuer, one.start, one.end) for one in likely_keys(f"see {key} ")]
                assert ((form.issuer, 4, 4 + len(key)) in found) == known, prefix


beginnings = st.sampled_from([
    *(example(prefix, form.issuer, form.character) for form in FORMS for prefix in form.prefixes),
    PEM, PEM[:100], PEM[-99:], TOKEN[:9] + "… (cut)",
])  # fmt: skip
pieces = st.sampled_from(["", " ", "n", "\\n", "\\", "-", ".", "é", "\ud83d", "🙂", "sk-", "\n", "x"])


@given(
    st.lists(st.lists(pieces | st.tuples(pieces, beginnings, pieces).map("".join), max_size=3).map("".join), max_size=3)
)
@case([PEM[:130], ""])
def test_keys_of_all_texts_are_those_of_each(texts: list[str]) -> None:
    secrets = Secrets(texts)
    assert secrets._whose == {text[start:end]: issuer for text in texts for issuer, start, end in likely_keys(text)}
    assert Secrets(["", PEM]).issuers == {PRIVATE_KEY: 1}


@pytest.mark.parametrize("text", [
    "a task-management-system-for-everyone-and-all", "risk-" + "a" * 50, "3f786850e387550fdab836ed7e6dc881de23001b",
    "9b5ad71b-2ce5-4302-811f-9c61530b329a", "sk-learn", "hf_hub_download_and_more_than_thirty_characters",
    "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----", "https://example.com/AKIA", "npm_config_registry",
])  # fmt: skip
def test_words_hashes_and_names_are_no_keys(text: str) -> None:
    assert marked(text) == text


@given(st.text(), st.text())
def test_all_but_the_key_stays(before: str, after: str) -> None:
    assert marked(f"{before} {TOKEN} {after}") == f"{before} [redacted: GitHub key] {after}"


def test_a_key_that_a_policy_or_the_table_cut_is_redacted_too() -> None:
    secrets = Secrets([f"a {TOKEN} b {PEM}"])
    assert secrets.issuers == {"GitHub": 1, PRIVATE_KEY: 1}
    for text in (
        f"a {TOKEN[:14]}[cut]",
        f"[cut]{TOKEN[-12:]} b",
        f"{TOKEN[:5]}… (70 more characters)",
        PEM[40:110],
        PEM[:50],
    ):
        left = secrets.marked(text)
        assert "[redacted: " in left and not any(BODY[at : at + 8] in left for at in range(len(BODY) - 8))
    assert secrets.marked_atom(TOKEN[4:20]) == "[redacted: GitHub key]"
    assert secrets.marked_atom("src/a.py") == "src/a.py"


def test_ten_characters_tell_a_known_key() -> None:
    secrets = Secrets([TOKEN, PEM])
    assert len(secrets) == 2 and len(Secrets(["nothing"])) == 0
    assert [secrets.marked_atom(TOKEN[5:end]) for end in (14, 15)] == [TOKEN[5:14], "[redacted: GitHub key]"]
    assert [secrets.marked(f"({TOKEN[:end]})") for end in (9, 10)] == [f"({TOKEN[:9]})", "([redacted: GitHub key])"]
    assert [secrets.marked(f"({TOKEN[at:]})") for at in (31, 30)] == [f"({TOKEN[31:]})", "([redacted: GitHub key])"]
    assert secrets.marked(f"a {PEM[32:50]} b") == "a [redacted: private key] b"
    # An end that begins with a sign stands right behind another one.
    assert Secrets(['password="Q7xw9Kp2mZ!vR4tL8sN1"']).marked("!vR4tL8sN1" * 2) == "[redacted: password]" * 2


def test_a_private_key_has_lines_and_another_is_one() -> None:
    begin, end = (f"-----{word} {PRIVATE_KEY.upper()}-----" for word in ("BEGIN", "END"))
    assert lines_of_key(f"{begin}\n{BODY[:10]}\\n{BODY[10:19]}\r\n{BODY[19:30]}\n{end}") == [BODY[:10], BODY[19:30]]
    assert lines_of_key(f"{TOKEN}\nx") == [f"{TOKEN}\nx"]
    assert [kind_of(one) for one in ("GitHub", PRIVATE_KEY, "encoded secret", "cookie")] == [
        "GitHub key", PRIVATE_KEY, "encoded secret", "cookie",
    ]  # fmt: skip


def test_of_more_than_a_thousand_keys_pieces_of_the_first_are_known() -> None:
    keys = [f"ghp_{number:04}{BODY[:30]}{number:04}" for number in range(1_001)]
    secrets = Secrets(keys)
    assert len(secrets) == 1_001
    for number, known in ((999, True), (1_000, False)):
        assert (secrets.marked_atom(f"ghp_{number:04}{BODY[:4]}") == "[redacted: GitHub key]") == known
        assert (secrets.marked(f"{keys[number][:12]}…") == "[redacted: GitHub key]…") == known


@pytest.mark.parametrize(("text", "issuer", "found"), [
    # Broken over lines, with a prefix of four characters: three may be a part of any word.
    ("AKIAQWERTY\nUIOPASDFGH", "AWS", "AKIAQWERTY\nUIOPASDFGH"),
    ("hf_QwErTyUiOpAsDfGh\nJkLzXcVbNmQwErTyUiOp", "", ""),
    # What stands before it may tell it too: it is one, and the issuer's.
    (f"password={TOKEN[:30]}x", "password", f"{TOKEN[:30]}x"), (f"token: {TOKEN}", "GitHub", TOKEN),
    (f"Cookie: sid={TOKEN}; a=b", "GitHub", f"sid={TOKEN}; a=b"), (f"x{TOKEN}", "", ""),
    (f"\\n{TOKEN}", "GitHub", TOKEN),
    (f"\\{TOKEN}", "GitHub", TOKEN), (f"…{TOKEN}é", "GitHub", TOKEN),
    (f"ghp_{BODY[:29]}", "", ""), (f"ghp_{BODY[:30]}", "GitHub", f"ghp_{BODY[:30]}"),
    (f"ghp_{BODY[:3]}… (cut)", "GitHub", f"ghp_{BODY[:3]}"),
])  # fmt: skip
def test_where_a_key_begins_and_ends(text: str, issuer: str, found: str) -> None:
    assert [(one.issuer, text[one.start : one.end]) for one in likely_keys(text)] == (
        [(issuer, found)] if issuer else []
    )


def test_two_keys_are_two_and_what_stands_around_them_stays() -> None:
    text = f"a {TOKEN} b {TOKEN[:-1]}z\nc"
    assert marked(text) == "a [redacted: GitHub key] b [redacted: GitHub key]\nc"
    assert [(one.start, one.end) for one in likely_keys(text)] == [(2, 42), (45, 85)]
    assert len(likely_keys("AKIAQWERTY\nUIOPASDFGH; AKIAQWERTZ\nUIOPASDFGH")) == 2


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaa.",
        "eyJaaaaaaaa-",
        "sk-",
        "SG.",
        "-----BEGIN PRIVATE KEY-----",
        "ghp_a",
        "ghp_a\n",
        "password=",
        "curl -u ",
        "a://b:",
        "Cookie: a=",
        "%3A%41a ",
        "dGVzdGVy" * 4 + " ",
        "mysql -p",
        "%41" * 400,
        "cookie=" * 280 + ";",
        "authorization:",
        b64encode(b"a line of 57 characters, as base64 commands have it: 123\n").decode() + "\n",
    ],
)
def test_time_is_linear_in_what_nearly_is_a_key(piece: str) -> None:
    began = time.process_time()
    likely_keys(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 2.5


def test_time_is_linear_in_what_stands_beside_a_piece_of_a_key() -> None:
    began = time.process_time()
    assert Secrets([TOKEN]).marked(TOKEN[:12] + "a" * 200_000 + f" {TOKEN[-12:]}" * 5_000).count("redacted") == 5_001
    assert time.process_time() - began < 2.5


def recording(folder: Path) -> Path:
    """A session that prints a key, and uses it."""
    result = f"token: {TOKEN}\n{PEM}\n" + "more " * 200
    made = chat(
        ("user", "look"), ASK, ("tool_result", result), ASK, ("tool_result", "ok"), ("assistant", f"used {TOKEN}"),
    )  # fmt: skip
    path = folder / "t.jsonl"
    path.write_bytes(b"\n".join(lines(made)))
    return path


def everything(out: Path) -> str:
    """All that a run says."""
    write_page(read_run(out), out / "report.html")
    told = [file.read_text() for file in out.iterdir() if file.suffix in (".json", ".csv")]
    tables = (pandas.read_parquet(file).to_csv() for file in out.glob("*.parquet"))
    return " ".join([*told, words_of(out / "report.html"), *tables])


def test_no_key_is_in_a_run_unless_somebody_asks_for_it(tmp_path: Path) -> None:
    path = str(recording(tmp_path))
    policies = ("keep-all", "mask:keep=1", "max-result-chars:chars=30", "summary:at=0.0001,keep_last=1")
    infos = {}
    for keep in (True, False):
        out = tmp_path / f"out{keep}"
        infos[keep] = conduct(Setting("t", "t", policies, keep_secrets=keep), out, paths=[path])
        said = everything(out)
        assert (TOKEN in said, BODY[:60] in said, BODY[3:20] in said) == (keep, keep, keep)
        assert ("[redacted: GitHub key]" in said) != keep
    assert infos[True].inputs[0].keys == infos[False].inputs[0].keys == {"GitHub": 1, PRIVATE_KEY: 1}
    pandas.testing.assert_frame_equal(*(read_run(tmp_path / f"out{keep}").summary for keep in (True, False)))


def test_the_command_warns_and_says_how_to_keep_them(tmp_path: Path) -> None:
    path = str(recording(tmp_path))
    for more, done in (((), "redacted in the results"), (("--text", "kept"), "left in the results by --text kept")):
        ran = ctxsim("bench", path, "--policy", "mask:keep=1", "--out", f"out{len(more)}", *more, cwd=tmp_path)
        assert f"warning: 2 likely keys in the transcripts (1 GitHub, 1 private key): {done}" in ran.stderr
        assert TOKEN not in ran.stdout + ran.stderr
        page = ctxsim("report", f"out{len(more)}", cwd=tmp_path)
        assert f"warning: 2 likely keys in the transcripts (1 GitHub, 1 private key): {done}" in page.stderr


def test_secrets_that_overlap_are_one_and_those_that_touch_are_two() -> None:
    first, second, third = Found("A", 0, 5), Found("B", 5, 9), Found("C", 8, 12)
    assert _apart([third, second, first]) == [first, Found("B", 5, 12)]
