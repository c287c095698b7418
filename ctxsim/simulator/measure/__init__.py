"""One transcript under one policy: its rows, what it lost, and what that costs."""
