"""Open Protocol."""
