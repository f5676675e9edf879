"""What Canal-JSON says of a column's type, by release: sqlType, a number of java.sql.Types, and mysqlType.

One law: a type has one sqlType, and large unsigned values may have a wider one.
"""

from __future__ import annotations

from simulator.releases import Release
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

BLOB = 2004

WIDE = {
    **{"tinyint": 5, "smallint": 4, "mediumint": 4, "int": -5, "bigint": 3, "float": 7, "double": 8, "decimal": 3},
    **{"bit": -7, "year": 91, "date": 91, "time": 92, "datetime": 93, "timestamp": 93, "char": 1, "varchar": 12},
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), 12),
    **{"enum": 1, "set": 1, "json": -1},
}
"""sqlType up to 5.3 (tiflow v4.0.9: cdc/sink/codec/canal.go buildColumn, java.go); the types that came later are as in
the releases that brought them."""

PROMOTIONS = {"tinyint": (127, 5), "smallint": (32767, 4), "int": (2147483647, -5), "bigint": (9223372036854775807, 3)}
"""Largest value of the unsigned type that keeps its sqlType, and the sqlType of those above; MEDIUMINT has none
(tiflow 5.4+: pkg/sink/codec/canal, java type of a value)."""


def sql_type(type: ColumnType, release: Release) -> int:
    """sqlType, before a value beyond the signed range promotes it (`promoted_sql_type`)."""
    if not release.canal_wide_sql_types:
        return BLOB if types.is_binary(type) else types.TYPES[type.name].sql_type
    if types.is_blob(type) and types.is_binary(type):
        return BLOB
    return WIDE.get(type.name, types.TYPES[type.name].sql_type)


def promotion(type: ColumnType, release: Release) -> tuple[int, int] | None:
    """For an unsigned integer: the largest value that keeps `sql_type`, and the sqlType of larger ones."""
    return PROMOTIONS.get(type.name) if type.unsigned and not release.canal_wide_sql_types else None


def promoted_sql_type(type: ColumnType, value: int | None, release: Release) -> int:
    """sqlType for an integer value (None: NULL) of the column."""
    limit = promotion(type, release)
    return limit[1] if limit and value is not None and value > limit[0] else sql_type(type, release)


def mysql_type(type: ColumnType, full: bool, release: Release) -> str:
    """mysqlType: `int unsigned`, or with `full` (content-compatible) TiDB's whole text, `int(10) unsigned`."""
    if full:
        return types.mysql_type(type, full=True)
    unsigned = " unsigned" if type.unsigned and release.canal_unsigned_types else ""
    return types.bare_name(type) + unsigned + (" zerofill" if type.zerofill and release.canal_zerofill_types else "")
