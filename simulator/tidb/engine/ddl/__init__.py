"""DDL statements and the rows after them."""
