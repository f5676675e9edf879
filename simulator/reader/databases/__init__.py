"""Tables that a consumer wrote to SQLite, PostgreSQL or MySQL, read through SQLAlchemy."""

from __future__ import annotations
