"""The API for Python and for pytest: a simulated TiDB with a changefeed, and fixtures that tests compare with."""
