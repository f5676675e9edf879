"""MySQL expressions over rows: event filters, generated columns, partitions and SQL statements, evaluated by DuckDB."""
