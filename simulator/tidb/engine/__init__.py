"""Executes SQL on the database: sessions, statements, queries."""
