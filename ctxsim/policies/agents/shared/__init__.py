"""What several agents do alike."""
