"""Values of MySQL expressions: kinds, conversions, literals, collations."""
