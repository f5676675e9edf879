"""MySQL's functions that no query language computes as TiDB does: texts → text, one call for each different row."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.functions.json_functions import JSON_FUNCTIONS

FUNCTIONS: dict[str, Callable[..., str | None]] = {**JSON_FUNCTIONS}
"""By their names in SQL. Arguments and values are text, None for NULL; what is wrong with them raises Problem."""
