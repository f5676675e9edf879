"""MySQL's functions that Python computes, since DuckDB's differ from TiDB's: from texts to a text."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.functions.addresses import ADDRESS_FUNCTIONS
from simulator.tidb.functions.elementary import ELEMENTARY_FUNCTIONS
from simulator.tidb.functions.intervals import INTERVAL_FUNCTIONS
from simulator.tidb.functions.json_functions import JSON_FUNCTIONS
from simulator.tidb.functions.regexps import REGEXP_FUNCTIONS
from simulator.tidb.functions.texts import TEXT_FUNCTIONS
from simulator.tidb.functions.time_conversions import TIME_CONVERSIONS
from simulator.tidb.functions.time_formats import TIME_FORMATS
from simulator.tidb.functions.time_functions import TIME_FUNCTIONS

PYTHON_FUNCTIONS: dict[str, Callable[..., str | None]] = {
    **JSON_FUNCTIONS,
    **TIME_CONVERSIONS,
    **TIME_FUNCTIONS,
    **TIME_FORMATS,
    **INTERVAL_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **REGEXP_FUNCTIONS,
    **ADDRESS_FUNCTIONS,
    **ELEMENTARY_FUNCTIONS,
}
"""By their names in SQL. Arguments and results are texts, None for NULL. They raise Problem."""
