"""Expressions inside definitions: DEFAULT, generated columns, functional keys, partition bounds."""
