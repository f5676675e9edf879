"""Parse queries."""
