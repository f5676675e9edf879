"""Sources of changes: snapshots and schema changes."""
