"""What the site takes from outside its folder: the README as its first page, its links, and the notebook as a page."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGES = {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")} | {"README.md": "index.md"}
"""By its place in the project, what a page is called in the site."""

PICTURES = ("results/documented-53k/token-growth.png",)

NOTEBOOK = "quickstart"


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
    return files


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
