"""What a log states beyond its items, and the fit of what it doesn't state."""
