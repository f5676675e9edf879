"""Execution of DDL statements: the jobs that TiDB queues, and the catalog after them."""
