"""Expressions of SQL, compiled to functions of a row."""
