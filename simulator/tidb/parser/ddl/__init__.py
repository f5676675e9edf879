"""DDL statements: text to trees."""
