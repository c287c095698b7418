"""What stands around a policy in an agent: the tracker it shows, the instructions it loads."""
