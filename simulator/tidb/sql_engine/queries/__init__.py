"""Queries and expressions of statements, evaluated over stored rows."""
