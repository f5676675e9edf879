"""By what TiDB's collations sort and compare text."""
