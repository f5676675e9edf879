"""Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, and their constraints."""
