"""Restore statements and expressions: return the text that TiDB writes back."""
