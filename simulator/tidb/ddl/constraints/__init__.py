"""Keys, foreign keys and CHECK constraints of existing tables."""
