"""DDL statements: the stored rows behind a change of the schema."""
