"""Columns of existing tables."""
