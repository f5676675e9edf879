"""TiCDC's handling of DDL: whether a statement is sent, as which events, with which text."""
