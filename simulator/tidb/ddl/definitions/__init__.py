"""Tables as TiDB makes them of their definitions: columns, types, defaults, keys."""
