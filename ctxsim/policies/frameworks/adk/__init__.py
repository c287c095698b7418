"""Google ADK."""
