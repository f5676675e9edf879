"""A session of the SQL engine: system variables, clock and transactions."""
