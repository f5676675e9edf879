"""Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, and what follows from them."""
