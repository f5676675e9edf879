"""Statements on databases and tables: read, classified, allowed or not, renamed, restored, applied to a catalog.

One law: nothing here knows of rows or of Kafka; each step is a function of the statement, the catalog and the release.
"""
