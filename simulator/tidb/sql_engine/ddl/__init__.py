"""DDL statements: their jobs, and the stored rows after them."""
