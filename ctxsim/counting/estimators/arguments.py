"""A call's arguments as a framework in Python counts them: parsed, and written again as JSON."""

import json
from functools import lru_cache


@lru_cache(maxsize=1 << 15)
def written_again(arguments: str) -> str:
    r"""Return arguments as `json.dumps` writes them: `{"a": 1}`, what isn't ASCII as `\u....`.

    No arguments are `{}`. What isn't an object stands under `input`, as where frameworks are handed it.
    """
    try:
        value = json.loads(arguments) if arguments else {}
    except ValueError:
        value = None
    return json.dumps(value if isinstance(value, dict) else {"input": arguments})
