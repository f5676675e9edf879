"""TiCDC's OpenAPI v2 on the changefeeds of a served TiDB."""
