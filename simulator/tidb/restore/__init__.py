"""Trees of statements and expressions as the text that TiDB writes back."""
