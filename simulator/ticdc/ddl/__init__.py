"""What TiCDC does with a statement: whether it is sent and why not, as which events, in which words."""
