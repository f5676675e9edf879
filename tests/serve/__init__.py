"""Tests of the server for MySQL clients."""
