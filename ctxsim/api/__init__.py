"""The public API: everything that a command does is one function here, with typed arguments and a value.

Each value has `.frame()`. `import ctxsim` hands these functions on at their first use; docs/python.md has examples.
"""
