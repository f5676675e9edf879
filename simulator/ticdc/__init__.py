"""TiCDC: what the changefeed does with rows and DDL jobs."""
