"""The storage of the database: rows and unique keys with versions, locks, transactions."""
