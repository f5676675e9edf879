"""Which sources are storages."""

from __future__ import annotations

from pathlib import Path

from simulator.ticdc.changefeed import STORAGE_SCHEMES

LIKE_FILES = (
    *("*/meta/schema_*.json", "*/*/meta/schema_*.json", "*/*/*/schema.json"),
    *("*/*/[0-9]*/CDC*", "*/*/[0-9]*/*/CDC*", "*/*/[0-9]*/*/*/CDC*", "[0-9]*/[0-9]*/*/CDC*"),
)
"""Patterns of schema files and files of rows."""


def is_storage(source: str) -> bool:
    """Return whether a source is the URI of a storage, or a directory to which a changefeed has written as to one."""
    if "://" in source:
        return source.partition("://")[0] in STORAGE_SCHEMES
    directory = Path(source)
    try:
        return (directory / "metadata").is_file() or any(True for like in LIKE_FILES for _ in directory.glob(like))
    except OSError:  # who lists the directory says why
        return False
