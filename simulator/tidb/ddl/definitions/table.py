"""Tables from syntax trees of CREATE TABLE, completed and checked as in TiDB.

Indexes are in TiDB's order, which decides between equal handle keys: keys of the table, keys of columns, indexes of
foreign keys (TiDB: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb import syntax
from simulator.tidb.ddl.definitions.defaults import default_text
from simulator.tidb.ddl.definitions.keys import build_checks, build_keys
from simulator.tidb.ddl.definitions.types import build_type
from simulator.tidb.model.charsets import resolve_charset_and_collation
from simulator.tidb.model.table import Column, LastIds, Partition, Partitioning, Table, TimeToLive
from simulator.tidb.parser.cursor import position

DEFAULT_CHARSET = ("utf8mb4", "utf8mb4_bin")
STORED_OPTIONS = (
    *("AUTO_INCREMENT", "AUTO_ID_CACHE", "AUTO_RANDOM_BASE", "SHARD_ROW_ID_BITS", "PRE_SPLIT_REGIONS"),
    "COMPRESSION",
)
DEFAULT_SHARD_BITS, RANGE_BITS = 5, 64
"""Shard bits and range bits of AUTO_RANDOM without arguments."""


def build_table(
    definition: syntax.CreateTable,
    schema: str,
    text: str,
    statement: str,
    default: tuple[str, str] = DEFAULT_CHARSET,
    clustered_index: str = "ON",
    literal: Collection[str] = (),
) -> Table:
    """Return the table of a CREATE TABLE. Raises SchemaError.

    Positions point into `text`; `default` is the charset and collation of the database, and `literal` the release's
    `literal_defaults`.
    """
    options = {option.name: option.value for option in definition.options}
    where = f"{position(text, definition.at)}: table {definition.name!r}"
    charset = resolve_charset_and_collation(options.get("CHARSET", ""), options.get("COLLATE", ""), default, where)
    columns = tuple(
        build_column(column, charset, text, id=number, literal=literal)
        for number, column in enumerate(definition.columns, 1)
    )
    names = column_names(columns, definition, text)
    keys = build_keys(definition, columns, names, text, definition.schema or schema, clustered_index)
    partitioning = build_partitioning(definition.partitioning, names, keys.primary_key, text)
    return Table(
        schema=definition.schema or schema,
        name=definition.name,
        columns=keys.columns,
        indexes=keys.indexes,
        primary_key=keys.primary_key,
        clustered=keys.clustered,
        partitioning=partitioning,
        charset=charset[0],
        collation=charset[1],
        comment=options.get("COMMENT", ""),
        statement=statement,
        foreign_keys=keys.foreign_keys,
        ttl=build_ttl(options),
        columnar_indexes=keys.columnar_indexes,
        temporary=definition.temporary,
        options=tuple((name, options[name]) for name in STORED_OPTIONS if name in options),
        checks=build_checks(definition),
        last_ids=LastIds(len(columns), keys.last_index_id, len(keys.foreign_keys)),
    )


def build_ttl(options: Mapping[str, str]) -> TimeToLive | None:
    """Return the settings of TTL, TTL_ENABLE and TTL_JOB_INTERVAL; None without TTL.

    The value of TTL is ``column + INTERVAL 3 MONTH``, with a quoted or plain column.
    """
    value = options.get("TTL", "")
    if not value:
        return None
    split = value.upper().rfind("INTERVAL")
    column = value[:split].rstrip().removesuffix("+").rstrip()
    if column.startswith("`"):
        column = column[1:-1].replace("``", "`")
    enabled = options.get("TTL_ENABLE", "ON").upper() != "OFF"
    return TimeToLive(column, value[split + 8 :].strip(), enabled, options.get("TTL_JOB_INTERVAL", ""))


def build_column(
    definition: syntax.ColumnDefinition, default: tuple[str, str], text: str, id: int = 0, literal: Collection[str] = ()
) -> Column:
    """Return a column with its complete type; keys may make it NOT NULL later. Raises SchemaError."""
    where = f"{position(text, definition.type.at)}: column {definition.name!r}"
    type = build_type(definition.type, definition.text("collate"), default, where)
    value, is_expression = default_text(definition.default, type, where, literal)
    return Column(
        name=definition.name,
        type=type,
        not_null=definition.null is False or definition.auto_increment,
        default=value,
        default_expression=is_expression,
        on_update=definition.text("on update"),
        generated=definition.generated,
        generated_expression=definition.text("generated"),
        auto_increment=definition.auto_increment,
        auto_random=definition.option("auto_random") is not None,
        comment=definition.text("comment"),
        shard_bits=shard_bits(definition),
        range_bits=range_bits(definition),
        id=id,
    )


def shard_bits(definition: syntax.ColumnDefinition) -> int:
    """Return the shard bits of AUTO_RANDOM; 0 without it."""
    option = definition.option("auto_random")
    return (option.numbers or (DEFAULT_SHARD_BITS,))[0] if option else 0


def range_bits(definition: syntax.ColumnDefinition) -> int:
    """Return the bits of an AUTO_RANDOM id."""
    option = definition.option("auto_random")
    return option.numbers[1] if option and len(option.numbers) > 1 else RANGE_BITS


def column_names(columns: tuple[Column, ...], definition: syntax.CreateTable, text: str) -> dict[str, str]:
    """Return the columns' names by lower case. Raises SchemaError for no columns and for duplicates."""
    if not columns:
        raise SchemaError(f"{position(text, definition.at)}: table {definition.name!r} has no columns")
    names: dict[str, str] = {}
    for column, read in zip(columns, definition.columns):
        if names.setdefault(column.name.lower(), column.name) is not column.name:
            raise SchemaError(f"{position(text, read.at)}: table {definition.name!r} has column {column.name!r} twice")
    return names


def build_partitioning(
    clause: syntax.PartitionClause | None, names: dict[str, str], primary_key: tuple[str, ...], text: str
) -> Partitioning | None:
    """Return the partitioning; partitions of HASH and KEY are named p0, p1, … Raises SchemaError."""
    if clause is None:
        return None
    where = position(text, clause.at)
    columns = tuple(resolve_column(name, names, where) for name in clause.method.columns)
    partitions = tuple(
        Partition(
            each.name, each.values, next((option.value for option in each.options if option.name == "COMMENT"), "")
        )
        for each in clause.definitions
    )
    if clause.method.kind in ("hash", "key"):
        partitions = partitions or tuple(
            Partition(f"p{number}") for number in range(min(clause.method.count or 1, 8192))
        )
        columns = columns or primary_key if clause.method.kind == "key" else ()
    check_partitions(clause, partitions, len(columns) or 1, where)
    return Partitioning(clause.method.kind, clause.method.expression, columns, partitions, not clause.method.columns)


def check_partitions(clause: syntax.PartitionClause, partitions: tuple[Partition, ...], width: int, where: str) -> None:
    """Raise SchemaError for missing or surplus values and partitions, and for duplicate names."""
    if clause.method.count and clause.method.count != len(partitions):
        raise SchemaError(
            f"{where}: PARTITIONS {clause.method.count}, but {len(partitions)} are possible or written out"
        )
    if len({partition.name.lower() for partition in partitions}) < len(partitions):
        raise SchemaError(f"{where}: the same partition name twice")
    valued = clause.method.kind in ("range", "list")
    if valued and not partitions:
        raise SchemaError(f"{where}: {clause.method.kind.upper()} partitioning needs its partitions written out")
    for partition in partitions:
        if bool(partition.values) is not valued:
            needs = {"range": "VALUES LESS THAN", "list": "VALUES IN"}.get(clause.method.kind, "no VALUES")
            raise SchemaError(f"{where}: partition {partition.name!r} of {clause.method.kind.upper()} needs {needs}")
        if any(len(values) != width and values not in SINGLE_VALUES for values in partition.values):
            raise SchemaError(f"{where}: partition {partition.name!r} needs {width} values at a time")


SINGLE_VALUES = (("MAXVALUE",), ("DEFAULT",))


def resolve_column(name: str, names: dict[str, str], where: str) -> str:
    """Return the column's name as in the table. Raises SchemaError for an unknown column."""
    if name.lower() not in names:
        raise SchemaError(f"{where}: no column {name!r}.{did_you_mean(name, names.values())}")
    return names[name.lower()]
