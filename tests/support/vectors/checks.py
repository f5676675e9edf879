"""The check of every kind of vector."""

from __future__ import annotations

from support.vectors import changefeed, codecs, ddl, dispatch, filtering, literals, rename, split, table_info
from support.vectors.kinds import Kind

MODULES = (changefeed, codecs, ddl, dispatch, filtering, literals, rename, split, table_info)
KINDS: dict[str, Kind] = {name: kind for module in MODULES for name, kind in module.KINDS.items()}
