"""Rows made up: so many inserts, updates and deletes on a table, from a seed."""
