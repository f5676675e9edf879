"""information_schema, performance_schema and mysql."""
