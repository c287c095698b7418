"""Python keeps the bytecode of what tests import, even where the environment says not to; numpy starts no threads.

Tests start hundreds of processes, and each would compile the package and its tests anew. To be imported first.
"""

from __future__ import annotations

import os
import sys

UNLESS = "CTXSIM_COMPILED_EACH_TIME"
"""Set where the code is changed behind Python's back (`evidence.mutations`)."""

# Threads for matrices of a few numbers take longer to start than they save.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if UNLESS not in os.environ:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
