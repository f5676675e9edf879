"""Sources of changes: snapshots, schema changes, and generated rows."""
