"""MySQL's functions that no query language computes as TiDB does: texts → text, one call for each different row."""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb.functions.addresses import ADDRESSES
from simulator.tidb.functions.elementary import ELEMENTARY
from simulator.tidb.functions.intervals import INTERVALS
from simulator.tidb.functions.json_functions import JSON_FUNCTIONS
from simulator.tidb.functions.regexps import REGEXPS
from simulator.tidb.functions.texts import TEXT_FUNCTIONS
from simulator.tidb.functions.time_forms import TIME_FORMS
from simulator.tidb.functions.time_functions import TIME_FUNCTIONS
from simulator.tidb.functions.time_readings import TIME_READINGS

FUNCTIONS: dict[str, Callable[..., str | None]] = {
    **JSON_FUNCTIONS,
    **TIME_READINGS,
    **TIME_FUNCTIONS,
    **TIME_FORMS,
    **INTERVALS,
    **TEXT_FUNCTIONS,
    **REGEXPS,
    **ADDRESSES,
    **ELEMENTARY,
}
"""By their names in SQL. Arguments and values are text, None for NULL; what is wrong with them raises Problem."""
