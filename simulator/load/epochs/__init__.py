"""Schema epochs: the parts of a load stream between two DDL statements."""
