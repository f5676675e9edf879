"""Parse statements and expressions with TiDB's grammar into syntax trees."""
