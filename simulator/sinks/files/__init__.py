"""Sinks that write fixture files."""
