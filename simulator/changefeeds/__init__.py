"""Several changefeeds on one served TiDB."""
