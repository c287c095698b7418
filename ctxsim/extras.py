"""How to install what an optional part of ctxsim needs, from where this ctxsim came from.

Never by our name alone where no index is known to have it: anybody could register that name.
"""

import json
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any
from urllib.parse import unquote, urlsplit


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of ctxsim; where nothing says where ctxsim is from, its packages.

    Rule: direct_url.json of PEP 610.
    """
    try:
        found = distribution("ctxsim")
    except PackageNotFoundError:
        return "install ctxsim by pip, from its own folder or repository"
    origin: dict[str, Any] = json.loads(found.read_text("direct_url.json") or "{}")
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
        return f"pip install {editable}'{unquote(urlsplit(url).path)}[{extra}]'"
    if vcs := origin.get("vcs_info"):
        return f"pip install 'ctxsim[{extra}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}'"
    return f"pip install {' '.join(repr(one) for one in _needs(found, extra))}"


def _needs(found: Distribution, extra: str) -> list[str]:
    wanted = re.compile(rf"""extra\s*==\s*['"]{extra}['"]""")
    return [one.partition(";")[0].strip() for one in found.requires or () if wanted.search(one)]
