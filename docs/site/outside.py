"""What the site has of outside the folder of pages: the README as its first page, and what that links to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGES = {"README.md": "index.md", "CHANGELOG.md": "CHANGELOG.md", "SECURITY.md": "SECURITY.md"}
"""By its place in the project, what a page is called in the site."""

PICTURES = ("results/documented-53k/token-growth.png",)


def on_files(files: Files, config: Any) -> Files:
    """Add them; nothing is copied into the folder of pages."""
    root = Path(config.docs_dir).parent
    for name, shown in PAGES.items():
        # The pages lie beside each other in the site.
        text = (root / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, shown, content=text))
    for name in PICTURES:
        files.append(File.generated(config, name, abs_src_path=str(root / name)))
    return files
