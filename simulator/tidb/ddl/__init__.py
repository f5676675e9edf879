"""What TiDB does with a statement: its jobs, and what becomes of the catalog."""
