"""A page on a served TiDB: SQL at the left, the streams of its changefeeds at the right."""
