"""Real agents: an endpoint that speaks four vendors' APIs, agents driven against it, and their configuration files."""
