"""`python -m ctxsim`."""

from ctxsim.cli import main

if __name__ == "__main__":
    main()
