"""Vectors: the files, their kinds, and a check for each kind."""
