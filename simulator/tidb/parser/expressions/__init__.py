"""Parse expressions, from names and literals to operators."""
