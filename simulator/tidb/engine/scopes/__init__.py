"""What the names of expressions mean in a statement."""
