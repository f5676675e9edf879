"""The text of statements and expressions as trees, by TiDB's grammar."""
