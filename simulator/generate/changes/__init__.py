"""Which rows change, when, and from which version to which."""
