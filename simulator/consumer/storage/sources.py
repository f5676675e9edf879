"""Which sources are storages."""

from __future__ import annotations

from pathlib import Path

from simulator.ticdc.changefeed import STORAGE_SCHEMES


def is_storage(source: str) -> bool:
    """Return whether a source is the URI of a storage, or a directory to which a changefeed has written as to one."""
    if "://" in source:
        return source.partition("://")[0] in STORAGE_SCHEMES
    directory = Path(source)
    patterns = ("*/meta/schema_*.json", "*/*/meta/schema_*.json", "*/*/*/schema.json")
    schema_files = (path for pattern in patterns for path in directory.glob(pattern))
    try:
        return (directory / "metadata").is_file() or next(schema_files, None) is not None
    except OSError:  # who lists the directory says why
        return False
