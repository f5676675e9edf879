"""Queries as relations: generators of rows."""
