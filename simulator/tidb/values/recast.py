"""TiDB text of a value of one type as that of another, as ALTER TABLE … MODIFY COLUMN turns it.

One law: what TiDB's strict mode would refuse to store becomes null.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.columns import cells
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values import numbers, strings
from simulator.tidb.values.cells import utf8
from simulator.tidb.values.text import tagged, tidb_text

NUMBERS = frozenset(("integer", "decimal", "float", "year", "bit"))
TIMES = frozenset(("date", "time", "datetime"))


def text_as(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.Array:
    """The value of a TiDB text; null where it is NULL or does not fit the target."""
    if source == target:
        return utf8(text)
    text = utf8(text)
    if is_binary(source):
        return tidb_text(target, cells.latin1(text))
    if family(target) in NUMBERS and source.elements:
        text = strings.number_of(source, text)
    elif family(source) == "float":
        text = numbers.positional(text)
    return tidb_text(target, tagged(text) if target.name == "bit" else text)


def convertible(source: ColumnType, target: ColumnType) -> bool:
    """Whether `text_as` knows how TiDB converts: all but points in time and bits read as something else."""
    one, other = family(source), family(target)
    if one == "bit":
        return other in NUMBERS
    return not (one in TIMES and other in NUMBERS or other in TIMES and one in NUMBERS)
