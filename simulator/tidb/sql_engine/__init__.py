"""The SQL engine: executes the statements of a session against stored rows.

A statement takes an `Upstream` and returns another one, with the changes that it committed. No other state is kept.
"""
