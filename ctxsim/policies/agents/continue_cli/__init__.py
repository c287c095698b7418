"""Continue's terminal agent."""
