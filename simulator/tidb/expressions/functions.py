"""All functions of MySQL that expressions can compute.

One law: an entry gives what MySQL gives, NULL for NULL; what DuckDB cannot compute so has no entry.
"""

from __future__ import annotations

from simulator.tidb.expressions.branches import BRANCHES, Function
from simulator.tidb.expressions.json_functions import JSON_FUNCTIONS
from simulator.tidb.expressions.number_functions import NUMBER_FUNCTIONS
from simulator.tidb.expressions.text_functions import TEXT_FUNCTIONS
from simulator.tidb.expressions.time_functions import TIME_FUNCTIONS

FUNCTIONS: dict[str, Function] = {
    **BRANCHES, **NUMBER_FUNCTIONS, **TEXT_FUNCTIONS, **JSON_FUNCTIONS, **TIME_FUNCTIONS}
"""By TiDB's names."""
