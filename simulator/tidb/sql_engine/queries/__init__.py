"""Queries and expressions of statements, evaluated in DuckDB over the stored rows."""
