"""The plan of a load run: its tables, rates and DDL statements, read from a TOML file."""
