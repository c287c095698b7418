"""Is a setting honoured: requests grow around the threshold that a policy expects, until the agent compacts."""
