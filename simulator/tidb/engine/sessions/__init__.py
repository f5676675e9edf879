"""Sessions: settings, the transaction, the context of a statement."""
