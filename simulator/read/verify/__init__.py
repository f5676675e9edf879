"""A stream verified: it keeps the contract, and leads to the rows that are expected."""
