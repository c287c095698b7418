"""`python -m ctxsim`, and what the installed command runs."""

import sys

LEAST = (3, 11)
"""The oldest Python that ctxsim runs on."""


def main() -> None:
    """Run this process's command line. A status line is asked for at every message: nothing else is imported for it."""
    if sys.version_info < LEAST:
        sys.exit(f"ctxsim: needs Python {LEAST[0]}.{LEAST[1]} or newer; this is {sys.version.partition(' ')[0]}")
    if sys.argv[1:] == ["statusline"]:
        from ctxsim.answers.bill import status

        status.main()
        return
    from ctxsim.cli import main as commands

    commands()


if __name__ == "__main__":
    main()
