"""TiDB's collations: sort keys and weights of text."""
