"""What the site takes from outside its folder: the README, the notebook, and the reference that commands print."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

PAGES = {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")} | {"README.md": "index.md"}
"""By its place in the project, what a page is called in the site."""

PICTURES = ("results/documented-53k/token-growth.png",)

NOTEBOOK = "quickstart"

COMMANDS = "commands.md"
"""The page of every command's help."""

PRINTED = {"columns.md": "columns", "formats-list.md": "formats"}
"""Pages that `ctxsim list KIND --format md` prints whole."""

LISTED = {"policies.md": "policies", "estimators.md": "estimators", "settings-list.md": "settings",
          "vendors-list.md": "vendors", "scenarios.md": "scenarios", "defects-list.md": "defects"}  # fmt: skip
"""Pages that show what `ctxsim list KIND` prints."""

COMPARED = "compared.md"
"""The page of what `python -m evidence.agents` prints."""


def on_files(files: Files, config: Any) -> Files:
    """Add them; nothing is copied into the folder of pages."""
    root = Path(config.docs_dir).parent
    for name, shown in PAGES.items():
        # The pages lie beside each other in the site.
        text = (root / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, shown, content=text))
    for name in PICTURES:
        files.append(File.generated(config, name, abs_src_path=str(root / name)))
    files.append(File.generated(config, f"{NOTEBOOK}.md", content=notebook(root / "docs" / f"{NOTEBOOK}.ipynb")))
    for name, text in reference(root):
        files.append(File.generated(config, name, content=text))
    return files


def reference(root: Path) -> list[tuple[str, str]]:
    """Return the pages that commands print."""
    groups = tomllib.loads((root / "ctxsim" / "cli" / "commands.toml").read_text(encoding="utf-8"))["groups"]
    names = [name for group in groups.values() for name in group]
    helps = "\n".join(f"## {name}\n\n{_shown(name, '--help')}" for name in names)
    pages = [(COMMANDS, f"# Commands\n\n{_shown('--help')}\n{helps}")]
    pages += [(name, _printed("list", kind, "--format", "md")) for name, kind in PRINTED.items()]
    pages += [(name, f"# {kind.capitalize()}\n\n`ctxsim list {kind}` prints:\n\n{_shown('list', kind)}")
              for name, kind in LISTED.items()]  # fmt: skip
    # The Python that has ctxsim: the site's own has mkdocs alone.
    python = Path(shutil.which("ctxsim") or "ctxsim").with_name("python")
    compared = _output_of(str(python), "-m", "evidence.agents", cwd=root).strip()
    pages.append((COMPARED, f"# Policies and their originals\n\n```text\n{compared}\n```\n"))
    return pages


def _shown(*words: str) -> str:
    return f"```text\n{_printed(*words).strip()}\n```\n"


def _printed(*words: str) -> str:
    return _output_of("ctxsim", *words)


def _output_of(*words: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, encoding="utf-8", cwd=cwd)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PluginError(f"{' '.join(words)}: {error}; put ctxsim on the path to build the site") from error
    return done.stdout


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page whose links to the project's own folder go to its page in the site."""
    return markdown.replace("](../", "](").replace(f"({NOTEBOOK}.ipynb)", f"({NOTEBOOK}.md)")


def notebook(path: Path) -> str:
    """Return a notebook as a page: its text, its code, and the outputs that are stored in it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *(_output(one["data"]) for one in cell["outputs"] if "data" in one)]


def _output(data: dict[str, Any]) -> str:
    if "image/png" in data:
        encoded = base64.b64encode(base64.b64decode("".join(data["image/png"]))).decode()
        return f"![A chart](data:image/png;base64,{encoded})"
    return "".join(data["text/html"]) if "text/html" in data else f"```text\n{''.join(data['text/plain'])}\n```"
