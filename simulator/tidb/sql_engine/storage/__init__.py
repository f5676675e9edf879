"""The state of a TiDB cluster: tables with their rows, keys and id allocators."""
