"""The public API: one function for each thing that a command does, with typed arguments and a typed return value.

Values that hold rows have `.frame()`. `import ctxsim` loads a function at its first use; docs/python.md has examples.
"""
