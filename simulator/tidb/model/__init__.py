"""Tables, columns and types, as TiDB stores them."""
