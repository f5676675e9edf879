"""Canal-JSON."""
