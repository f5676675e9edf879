"""Tables, their columns and types, as TiDB keeps them."""
