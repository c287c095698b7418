"""Redacted transcripts: as long, the same for the same, nothing left of the originals, in every format and field."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest
from command_line import ctxsim
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import ASK, chat
from strategies import transcripts

from ctxsim.cli.transcripts import WRITTEN
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.readers import read
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.safety.redaction import Redaction, likely_keys
from ctxsim.safety.redaction.people import told_names, with_homes, with_mails
from ctxsim.transcript import Call, Compaction, Head, Item, Needle, Transcript, problems

BODY = "Q7wErTy9uIoPaSdFgHjKlZxCvBnM4q2WeRtY"
"""Invented. Put behind a prefix at run time only: no file of the project looks like a key."""

KEY = "ghp" + "_" + BODY
PEM = "\n".join(("-----BEGIN RSA PRIVATE" + " KEY-----", BODY + "x", BODY[::-1], "-----END RSA PRIVATE" + " KEY-----"))
NAME, MAIL = "marisol", "marisol.b@firma-nord.example"
TOKENIZER = open_tokenizer()


def redacted(*texts: str, **fields: object) -> list[str]:
    """What becomes of texts of one transcript."""
    made = chat(*(("user", text) for text in texts))
    return [item.text for item in Redaction(TOKENIZER.count_many).transcript(made).items]


@pytest.mark.parametrize("home", [
    "/home/{}/src", "/Users/{}/src", "C:\\Users\\{}\\src", "C:/Users/{}/src", "c:\\users\\{}", "/c/Users/{}/src",
    "/mnt/c/Users/{}/src", "file:///home/{}/src", "\\/home\\/{}\\/src", "%2Fhome%2F{}%2Fsrc", "/var/home/{}/src",
    "-home-{}-src", "~/.claude/projects/-Users-{}-src/1.jsonl", "C--Users-{}-src", "(/home/{})", "HOME=/home/{}\nPWD=/",
    "line\\n/home/{}\\nline", "/home/{}.", "'/Users/{}'",
    "\x1b[01;34m/home/{}\x1b[0m", "gcc -I/home/{}/include", "\\\\wsl$\\Ubuntu\\home\\{}\\src", "\\u0022/home/{}\\u0022",
    "/System/Volumes/Data/Users/{}/src",
])  # fmt: skip
def test_home_folders_in_every_spelling(home: str) -> None:
    for text in (home.format(NAME), json.dumps(home.format(NAME))):
        (made,) = redacted(text)
        assert NAME not in made and len(made) == len(text)
        assert made.replace(made[text.index(NAME) :][: len(NAME)], NAME) == text


@pytest.mark.parametrize("text", [
    "https://example.com/home/about", "src/home/index.ts", "~/home/page", "home/marisol", "git@github.com:a/b.git",
    "see docs.Users/x", "pip install a==1.2 @decorator lodash@4.17.21", "a--home-b", "users and homes", "user@host",
])  # fmt: skip
def test_pages_packages_and_flags_stay(text: str) -> None:
    assert redacted(text) == [text]


def test_an_account_is_replaced_as_a_word_too_but_none_that_is_nobodys() -> None:
    home, listing, inside, short = redacted(
        f"/home/{NAME}/x", f"-rw-r--r-- 1 {NAME} staff {NAME}_old.txt mcp__{NAME}__do", f"{NAME}a a{NAME}", "no"
    )
    (new,) = {home[6:13], listing[13:20], listing[27:34]}
    assert new != NAME and listing == f"-rw-r--r-- 1 {new} staff {new}_old.txt mcp__{new}__do"
    _, color = redacted(f"/home/{NAME}/x", f"\x1b[1;32m{NAME}\x1b[0m")
    assert color == f"\x1b[1;32m{new}\x1b[0m"
    assert (inside, short) == (f"{NAME}a a{NAME}", "no")
    shared, word = redacted("/home/user/x /home/al/x /home/about", "user al about")
    assert shared[6:10] != "user" and shared[19:21] != "al" and word == "user al about"


@pytest.mark.parametrize("everything", [False, True])
def test_of_a_dotted_account_no_part_stays(everything: bool) -> None:
    made = chat(
        (
            "user",
            "/Users/klaus.hollerbach/code C:\\Users\\klaus.hollerbach\\src klaus.hollerbach staff "
            "~/.claude/projects/-Users-klaus-hollerbach-code",
        )
    )
    (item,) = Redaction(TOKENIZER.count_many, everything).transcript(made).items
    assert "klaus" not in item.text and "hollerbach" not in item.text


def test_a_name_with_accents_or_a_space_is_the_same_in_json() -> None:
    home = "/home/zoé/x C:\\Users\\Zoé Lüders\\x"
    plain, escaped, word = redacted(home, json.dumps(home), "zoé and " + json.dumps("zoé"))
    assert json.loads(escaped) == plain
    new = plain[6:9]
    assert new != "zoé" and word == f"{new} and {json.dumps(new)}" and "Lüders" not in plain
    assert len(plain.encode()) == len(home.encode())


def test_a_key_a_piece_of_it_and_a_private_key_line_by_line() -> None:
    whole, cut, told, escaped, half = redacted(
        f"KEY={KEY} {PEM}",
        f"{KEY[:15]}...{KEY[-12:]}",
        f"sent {MAIL}, {MAIL.replace('@', '%40')}",
        json.dumps(PEM),
        BODY[::-1],
    )
    new, block = whole[4:44], whole[45:]
    assert cut == f"{new[:15]}...{new[-12:]}" and json.loads(escaped) == block and half == block.split("\n")[2]
    assert not any(likely_keys(text) for text in (whole, cut, escaped)) and BODY[:9] not in whole
    first, second = told[5:-1].split(", ")
    (go,) = redacted(f"\\u003c{MAIL}\\u003e")
    assert "firma" not in go and go.startswith("\\u003c") and go.endswith(".example\\u003e")
    assert first.endswith(".example") and "%40" in second and "marisol" not in told and "firma" not in told


def test_a_piece_of_a_key_goes_as_far_as_the_key_does() -> None:
    # Twelve of its first, its middle and its last characters, in other texts; ten tell it, at either end.
    key, new = KEY, redacted(KEY)[0]
    for text, said in (
        (f"{key[:12]}...", f"{new[:12]}..."), (f"x {key[-12:]}.", f"x {new[-12:]}."), (key[:10], new[:10]),
        (key[-10:], new[-10:]), (key[:9], key[:9]), (key[-9:], key[-9:]), (key[5:25], key[5:25]),
        # A character that isn't the key's ends it, and a piece may stand twice.
        (f"{key[:14]}#{key[15:20]} {key[:11]}", f"{new[:14]}#{key[15:20]} {new[:11]}"),
        (f"#{key[-14:]}# {key[-11:]}", f"#{new[-14:]}# {new[-11:]}"), (f"{key[1:12]}", f"{key[1:12]}"),
        # What stands at the text's other end is no part of it.
        (f"{key[-10:]} {key[-11]}", f"{new[-10:]} {key[-11]}"),
    ):  # fmt: skip
        assert redacted(key, text) == [new, said]


def test_a_piece_is_of_the_key_that_agrees_with_most_of_it() -> None:
    # Both keys begin with the same 13 characters, and end with the same 10.
    first, second = (f"sk-ant-{'api03-'}{body}0aB1cD2eF3" for body in (2 * BODY, 2 * BODY[::-1]))
    for keys in ((first, second), (second, first)):
        *made, cut, end = redacted(*keys, f"{keys[0][:17]}... {keys[1][:17]}...", f"...{keys[0][-14:]}")
        assert (cut, end) == (f"{made[0][:17]}... {made[1][:17]}...", f"...{made[0][-14:]}")


def test_what_was_replaced_is_counted_and_said() -> None:
    redaction = Redaction(TOKENIZER.count_many)
    missing = "passwords that are words, secrets in prose, in pictures, encrypted or packed, and names of people"
    more = ", IP addresses, phone numbers, host names (--redact all)"
    assert redaction.said == f"redacted: nothing was found; not looked for: {missing}{more}"
    redaction.transcript(chat(("user", f"/home/{NAME}/x {MAIL} {KEY} 203.0.113.77"), ("user", f"{KEY} a@b.example")))
    assert redaction.found == {"account name": {NAME}, "e-mail address": {MAIL, "a@b.example"}, "GitHub key": {KEY}}
    assert redaction.said == (
        f"redacted: 1 GitHub key(s), 1 account name(s), 2 e-mail address(s); not looked for: {missing}{more}"
    )
    everything = Redaction(TOKENIZER.count_many, everything=True)
    everything.transcript(chat(("user", "203.0.113.77")))
    assert everything.said == f"redacted: 1 IP address(s); not looked for: {missing}"


def test_a_host_that_some_text_tells_is_replaced_wherever_it_stands() -> None:
    made = chat(("user", "See https://build.acme.io:8443/x, build.acme.io and my-build.acme.io."),
                ("user", "ping build.acme.io, but rebuild.acme.io and github.com"))  # fmt: skip
    first, second = (item.text for item in Redaction(TOKENIZER.count_many, everything=True).transcript(made).items)
    host = first.partition("https://")[2].partition(":")[0]
    assert host != "build.acme.io" and len(host) == len("build.acme.io")
    assert first == f"See https://{host}:8443/x, {host} and my-{host}."
    assert second == f"ping {host}, but rebuild.acme.io and github.com"
    (plain, _) = Redaction(TOKENIZER.count_many).transcript(made).items
    assert plain.text == made.items[0].text


def test_every_field_is_redacted_and_everything_else_stays() -> None:
    home = f"/home/{NAME}/x {MAIL} {KEY}"
    items = (
        Item("user", 0, 0, home),
        Item("tool_call", 1, 1, json.dumps({"path": home, NAME: 1}), f"mcp__{NAME}", call_id=f"c-{NAME}"),
        Item("tool_result", 2, 2, home, f"mcp__{NAME}", 1, f"c-{NAME}"),
        Item("reasoning", 3, 3, home),
    )
    calls = (Call(1, 2, time_s=1.5, model=f"/home/{NAME}/{NAME}", head=Head(home, (home,))), Call(3, 4, model=NAME))
    before = Transcript(
        f"{NAME}/t.jsonl", Head(home, (json.dumps({"name": f"mcp__{NAME}"}),)), items, calls, "openai-chat",
        f"{NAME}/p", (home,), (Needle("fact", home, 0, "start", (1,)),), (Compaction(2, 3, "auto", (home,)),),
    )  # fmt: skip
    after = Redaction(TOKENIZER.count_many).transcript(before)
    assert problems(after) == [] and after.format == "openai-chat" and after.calls[1].model == NAME
    said = msgspec.json.encode(msgspec.structs.replace(after, calls=after.calls[:1])).decode()
    assert not any(
        one in said for one in (f"/{NAME}/x", f"_{NAME}", f"-{NAME}", f'"{NAME}/', f"home/{NAME}", MAIL, KEY)
    )
    assert after.items[1].tool == json.loads(after.head.tools[0])["name"] and len(json.loads(after.items[1].text)) == 2
    assert list(map(len, strings(before))) == list(map(len, strings(after)))


def strings(transcript: Transcript) -> list[str]:
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
            walk(one)

    walk(msgspec.to_builtins(transcript))
    return found


PLANTED = (KEY, PEM, f"/home/{NAME}/a", f"C:\\Users\\{NAME}\\a", NAME, MAIL, "x@y.org", KEY[:12], "\\nzoe@y.org")


@settings(max_examples=20)
@given(transcripts(max_calls=3), st.lists(st.tuples(st.integers(0, 99), st.sampled_from(PLANTED), st.booleans())))
@example(chat(("user", ""), ASK, ("tool_result", "")), [(0, KEY, True), (1, KEY, False), (2, f"/home/{NAME}/a", True)])
def test_whatever_is_planted_goes_and_lengths_sameness_and_json_stay(
    made: Transcript, planted: list[tuple[int, str, bool]]
) -> None:
    items = list(made.items)
    for at, secret, as_json in planted:
        item = items[at % len(items)]
        text = json.dumps({"a": secret}) if as_json else secret
        items[at % len(items)] = item.with_text(f"{item.text} {text} " if item.text else text)
    before = msgspec.structs.replace(made, items=tuple(items))
    after = Redaction(TOKENIZER.count_many).transcript(before)
    assert problems(after) == [] and after.calls == before.calls
    known = {secret for _, secret, _ in planted}
    told = any("home" in one or "Users" in one for one in known)
    stands_for: dict[str, set[str]] = {}
    for one, other in zip(before.items, after.items, strict=True):
        assert len(one.text) == len(other.text) and not likely_keys(other.text)
        assert not ({KEY, BODY, MAIL, "x@y.org", "zoe@y.org", *([NAME] if told else [])} & set(parts(other.text)))
        if one.text.startswith('{"a"') and one.text.endswith("}"):
            assert set(json.loads(other.text)) == {"a"}
        for secret in (KEY, MAIL, *([NAME] if told else [])):
            for at in range(len(one.text)):
                if one.text.startswith(secret, at) and (secret != NAME or not one.text.startswith(MAIL, at)):
                    stands_for.setdefault(secret, set()).add(other.text[at : at + len(secret)])
    assert all(len(found) == 1 for found in stands_for.values())
    assert Redaction(TOKENIZER.count_many).transcript(before) == after


def parts(text: str) -> list[str]:
    """Every word of a text, also joined by dots, dashes and `@`."""
    return [word for line in text.replace("\\", " ").replace("/", " ").split() for word in (line, *line.split('"'))]


@pytest.mark.parametrize("form", WRITTEN)
def test_the_command_writes_every_format_without_them(form: str, tmp_path: Path) -> None:
    made = chat(
        ("user", f"/home/{NAME}/x {MAIL}"), ("tool_call", json.dumps({"path": f"/home/{NAME}/x", "key": KEY})),
        ("tool_result", f"{PEM} {NAME}"), ("assistant", f"{KEY} sent to {MAIL}"),
    )  # fmt: skip
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(lines(msgspec.structs.replace(made, name=f"{NAME}.jsonl"))))
    ran = ctxsim("transcripts", "convert", "t.jsonl", "--to", form, "--redact", "--out", "out.jsonl", cwd=tmp_path)
    assert (
        "redacted: 1 GitHub key(s), 1 account name(s), 1 e-mail address(s), 1 private key(s); not looked for: "
        in ran.stderr
    )
    said = (tmp_path / "out.jsonl").read_text()
    assert not any(one in said for one in (NAME, "firma", BODY[:10], BODY[::-1][:10], "PRIVATE"))
    (after,) = read(str(tmp_path / "out.jsonl"))
    assert [len(item.text) for item in after.items] == [len(item.text) for item in made.items]
    assert json.loads(after.items[1].text)["key"] in after.items[3].text


def test_tokens_stay_near() -> None:
    """Of nothing but keys, names and addresses: a key of 40 random characters stays within three tokens."""
    texts = [KEY, f"/home/{NAME}/src/main.py", MAIL, f"{NAME} wrote to {MAIL}"]
    before, after = map(TOKENIZER.count_many, (texts, redacted(*texts)))
    assert all(abs(one - other) <= 3 for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "piece",
    [
        "/home/a",
        "/home/a.",
        "a@",
        "a@b.",
        "a.",
        "a.b@c-",
        "C:\\Users\\a b ",
        "-home-",
        "\\u00e9",
        "%40",
        "@a%40b.",
        "@ " + "1m" * 50_000,
    ],
)
def test_time_is_linear_in_what_nearly_is_a_folder_or_an_address(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    with_homes(with_mails(text, str.lower), str.lower)
    list(told_names(text))
    assert time.process_time() - began < 2
