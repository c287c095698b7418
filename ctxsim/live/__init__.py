"""A mock endpoint that speaks four vendors' APIs, and real agents driven against it."""
