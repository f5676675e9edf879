"""What the database does with a statement or a value."""
