"""Queries inside other statements."""
