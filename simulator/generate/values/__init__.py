"""The values of generated rows: generators, recipes and TiDB texts."""
