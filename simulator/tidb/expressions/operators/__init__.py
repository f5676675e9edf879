"""Operators and casts of MySQL."""
