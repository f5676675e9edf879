"""All functions of MySQL that event filters can compute on Spark.

One law: an entry gives what MySQL gives, NULL for NULL; what Spark cannot compute so has no entry.
"""

from __future__ import annotations

from simulator.filters.mysql_branches import BRANCHES, Function
from simulator.filters.mysql_number_functions import NUMBER_FUNCTIONS
from simulator.filters.mysql_text_functions import TEXT_FUNCTIONS
from simulator.filters.mysql_time_functions import TIME_FUNCTIONS

FUNCTIONS: dict[str, Function] = {**BRANCHES, **NUMBER_FUNCTIONS, **TEXT_FUNCTIONS, **TIME_FUNCTIONS}
"""By TiDB's names."""
