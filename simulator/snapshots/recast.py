"""TiDB text of a value of one type as that of another, as ALTER TABLE … MODIFY COLUMN turns it.

One law: what TiDB's strict mode would refuse to store becomes null.
"""

from __future__ import annotations

from pyspark.sql import Column, types
from pyspark.sql import functions as F

from simulator.schema.table import ColumnType
from simulator.schema.types import family, is_binary
from simulator.snapshots.values import tidb_text

NUMBERS = frozenset(("integer", "decimal", "float", "year", "bit"))
TIMES = frozenset(("date", "time", "datetime"))


def text_as(source: ColumnType, target: ColumnType, name: str) -> Column:
    """The value whose TiDB text is `name` (Spark SQL); null where it is NULL or does not fit the target."""
    if source == target:
        return F.expr(name)
    if is_binary(source):
        return tidb_text(target, f"encode({name}, 'ISO-8859-1')", types.BinaryType())
    if family(target) in NUMBERS and source.elements:
        name = _number_of(source, name)
    if target.name == "bit":
        return tidb_text(target, f"cast(concat('n', {name}) as binary)", types.BinaryType())
    return tidb_text(target, f"cast({name} as string)", types.StringType())


def convertible(source: ColumnType, target: ColumnType) -> bool:
    """Whether `text_as` knows how TiDB converts: all but points in time and bits read as something else."""
    one, other = family(source), family(target)
    if one == "bit":
        return other in NUMBERS
    return not (one in TIMES and other in NUMBERS or other in TIMES and one in NUMBERS)


def _number_of(type: ColumnType, name: str) -> str:
    """SQL of the number that stands for members: of an ENUM its place from 1, of a SET one bit each."""
    members = ["'" + member.replace("\\", "\\\\").replace("'", "\\'") + "'" for member in type.elements]
    if type.name == "enum":
        return f"array_position(array({', '.join(members)}), {name})"
    bits = (f"if(find_in_set({member}, {name}) > 0, {1 << bit}BD, 0BD)" for bit, member in enumerate(members))
    return f"({' + '.join(bits)})"
