"""References: identifiers and quotations of earlier tool results that calls use, and whether a view still held them.

Survival is a necessary condition for the agent to have acted the same, not a prediction of success. docs/references.md.
"""
