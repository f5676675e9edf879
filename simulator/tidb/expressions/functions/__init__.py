"""MySQL's functions, by name."""
