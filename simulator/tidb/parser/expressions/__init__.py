"""Expressions, from names and literals to operators."""
