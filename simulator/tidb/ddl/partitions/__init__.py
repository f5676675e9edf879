"""Partitioning of tables: expressions, bounds and ALTER TABLE."""
