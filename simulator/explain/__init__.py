"""Explains what the simulator makes of a row, a statement or a table, and why."""
