"""One file per framework: how its messages are made and read, and how its classes are driven."""
