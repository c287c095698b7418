"""The simulator: transcript + policy -> columns."""
