"""`ctxsim tokenizers`: what counts offline here, and whether the engines agree."""

from __future__ import annotations

import sys

import click

from ctxsim.cli import rows
from ctxsim.counting.tokenizers import DEFAULT, available, open_tokenizer
from ctxsim.counting.tokenizers.agreement import compare
from ctxsim.report.sheet import sheet


@click.command("tokenizers")
@click.option("--verify", is_flag=True, help="Count the same texts with every engine that has a vocabulary.")
@rows.form
def command(verify: bool, form: str) -> None:
    """List the tokenizers that work offline on this machine. Any local one: hf:PATH_OR_ID"""
    if not verify and form != "table":
        names = [(name, name == DEFAULT) for name in available()]
        rows.show("tokenizers", [sheet("tokenizers", "", ("name", "default"), names)], form)
        return
    if not verify:
        for name in available():
            click.echo(f"{name}{'   (default)' if name == DEFAULT else ''}")
        click.echo("hf:PATH_OR_ID   (a tokenizer.json, its folder, or a model id that transformers has cached)")
        return
    worst = 0
    for vocabulary, engines, texts, disagreements in compare():
        click.echo(f"{vocabulary}: {', '.join(engines)} on {texts} texts: {disagreements} disagreements")
        worst = max(worst, disagreements)
    for name in available():
        if ":" not in name:
            click.echo(f"{name}: sha256 {open_tokenizer(name).vocabulary_sha256[:16]}…")
    sys.exit(1 if worst else 0)
