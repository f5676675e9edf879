"""What a TiDB server stores: tables with their rows, keys and id allocators."""
