"""The simulated database: how TiDB parses and executes statements, and stores and prints values."""
