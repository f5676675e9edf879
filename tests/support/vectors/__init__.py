"""What was given: the files, and a check for each kind of vector."""
