"""TiDB's functions that expressions can compute."""

from __future__ import annotations

from simulator.tidb.exprs.choices import CHOICE_FUNCTIONS
from simulator.tidb.exprs.expression import Function
from simulator.tidb.exprs.number_functions import NUMBER_FUNCTIONS

FUNCTIONS: dict[str, Function] = {**CHOICE_FUNCTIONS, **NUMBER_FUNCTIONS}
"""By TiDB's names."""
