"""Records to fixture files."""
