"""AUTO_RANDOM in CREATE TABLE (TiDB: pkg/ddl/ddl_api.go, setTableAutoRandomBits; pkg/meta/autoid)."""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.ddl.tidb_errors import tidb_error

SHARD_BITS, RANGE_BITS = 5, 64
MOST_SHARD_BITS = 15
LEAST_RANGE_BITS = 32
LEAST_BITS = 27
"""Bits of the incremental part."""


def check_auto_random(definition: syntax.CreateTable, handle: syntax.KeyDefinition | None) -> None:
    """Raise DdlError 8216 for invalid AUTO_RANDOM; `handle` is the clustered primary key."""
    for column in definition.columns:
        option = column.option("auto_random")
        if option is None:
            continue
        if column.type.name != "bigint":
            raise tidb_error(
                "ddl:8216",
                f"auto_random option must be defined on `bigint` column, but not on `{type_name(column)}` column",
            )
        if handle is None:
            raise tidb_error("ddl:8216", "auto_random is only supported on the tables with clustered primary key")
        if handle.parts[0].column.lower() != column.name.lower():
            raise tidb_error("ddl:8216", f"column '{column.name}' must be the first column in primary key")
        if column.auto_increment:
            raise tidb_error("ddl:8216", "auto_random is incompatible with auto_increment")
        if column.default is not None:
            raise tidb_error("ddl:8216", "auto_random is incompatible with default")
        check_bits(column, option.numbers)


def check_bits(column: syntax.ColumnDefinition, numbers: tuple[int, ...]) -> None:
    shard = numbers[0] if numbers else SHARD_BITS
    bits = numbers[1] if len(numbers) > 1 else RANGE_BITS
    if shard == 0:
        raise tidb_error("ddl:8216", "the value of auto_random should be positive")
    if shard > MOST_SHARD_BITS:
        raise tidb_error(
            "ddl:8216",
            f"max allowed auto_random shard bits is {MOST_SHARD_BITS}, but got {shard} on column `{column.name}`",
        )
    if not LEAST_RANGE_BITS <= bits <= RANGE_BITS:
        raise tidb_error(
            "ddl:8216", f"auto_random range bits must be between {LEAST_RANGE_BITS} and {RANGE_BITS}, but got {bits}"
        )
    if bits - shard - (not column.type.unsigned) < LEAST_BITS:
        raise tidb_error(
            "ddl:8216", "auto_random ID space is too small, please decrease the shard bits or increase the range bits"
        )


def type_name(column: syntax.ColumnDefinition) -> str:
    """Return TiDB's name of the type (TiDB: pkg/parser/types/etc.go, TypeStr)."""
    return {"text": "text", "mediumtext": "mediumtext"}.get(column.type.name, column.type.name)
