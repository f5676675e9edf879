"""ALTER TABLE … PARTITION BY, REMOVE PARTITIONING, EXCHANGE PARTITION, and FIRST and LAST PARTITION of INTERVAL tables.

A unique key that is not GLOBAL must contain all partitioning columns (TiDB v8.5: pkg/ddl/partition.go,
checkPartitioningKeysConstraints). Bounds of INTERVAL are integers or dates, at equal intervals
(generatePartitionDefinitionsFromInterval there).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta, tzinfo

from msgspec import structs

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.alter_partitions import (
    MAX_PARTITIONS,
    build_partition,
    check_partitions,
    table_partitioning,
    with_partitions,
)
from simulator.tidb.ddl.catalog import (
    MAX_NAME_LENGTH,
    existing_column,
    find_column,
    lower_names,
    normalize,
    partition_names,
    partitioning_columns,
)
from simulator.tidb.ddl.expressions import constant_in_zone
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.ddl.partition_values import check_function_type, check_partition_function, check_types, is_unsigned
from simulator.tidb.ddl.session import Alteration, Session, SubJob, SubJobs, TargetTable, WrittenSpec
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.functions.intervals import MONTH_UNITS
from simulator.tidb.model.table import Column, Index, Partition, Partitioning, Table, row_id_column
from simulator.tidb.model.types import INTEGER_BITS, family
from simulator.tidb.restore import quote_name

PARTITION_COLUMN_FAMILIES = ("integer", "date", "datetime", "time", "string")
"""Types of columns of RANGE COLUMNS and LIST COLUMNS; KEY allows almost any."""


def partition_by(spec: syntax.PartitionBy, alteration: Alteration) -> SubJobs:
    target = alteration.target
    if target is None:
        yield SubJob(Action.ALTER_TABLE_PARTITIONING)
        return
    table, scopes = target.table, {name.lower(): options for name, options in spec.partitioning.update_indexes}
    partitioning = new_partitioning(spec.partitioning, with_index_scopes(table, scopes), alteration.session)
    partitioning = partitioning and replace(partitioning, implied=False)
    if table.foreign_keys or any(referring_keys(target.catalog, table.schema, table.name)):
        raise tidb_error("schema:1506")

    def apply(before: Table) -> Table:
        return replace(with_index_scopes(before, scopes), partitioning=partitioning)

    yield SubJob(Action.ALTER_TABLE_PARTITIONING, apply)


def new_partitioning(clause: syntax.PartitionClause, table: Table, session: Session) -> Partitioning | None:
    """Return the partitioning of a clause, or None if TiDB ignores it. Raises DdlError (TiDB: buildTablePartitionInfo,
    checkPartitionDefinitionConstraints, checkPartitioningKeysConstraints)."""
    if clause.method.kind == "system_time":
        return None
    if clause.method.kind in ("hash", "key") and clause.subpartition:
        raise tidb_error("ddl:1500")
    if clause.method.expression:
        check_partition_function(clause.method.expression, table)
    columns = clause.method.columns or (key_columns(table) if clause.method.kind == "key" else ())
    for name in columns:
        check_partition_column(name, clause.method.kind, table)
    clause = expand_interval(clause, table, session.zone)
    if max(clause.method.count, len(clause.definitions)) > MAX_PARTITIONS:
        raise tidb_error("ddl:1499")
    names = {column.name.lower(): column.name for column in table.columns}
    partitions = tuple(build_partition(definition, clause.method.kind, session) for definition in clause.definitions)
    if clause.method.kind in ("hash", "key"):
        partitions = partitions or tuple(Partition(f"p{number}") for number in range(clause.method.count or 1))
    stored_names, implied = tuple(names[name.lower()] for name in columns), not clause.method.columns
    partitioning = Partitioning(clause.method.kind, clause.method.expression, stored_names, partitions, implied)
    for partition in partitions:
        check_types(partition, partitioning, table)
        if len(partition.name) > MAX_NAME_LENGTH and clause.method.kind in ("range", "list"):
            raise tidb_error("ddl:1059", partition.name)
    if not partitioning.columns and not partitioning.expression:
        raise error_with_text(
            "ddl:1105",
            "Table partition metadata not correct, neither partition expression or list of partition columns",
        )
    partitioning = check_partitions(partitioning, table, session)
    if partitioning.expression:
        check_function_type(partitioning.expression, table)
    check_unique_keys(replace(table, partitioning=partitioning), session)
    return partitioning


def key_columns(table: Table) -> tuple[str, ...]:
    """Return the columns of KEY (): the primary key, or the first unique key of NOT NULL columns."""
    filled = {column.name for column in table.columns if column.not_null}
    unique = (tuple(part.name for part in index.columns) for index in table.indexes if index.unique)
    return table.primary_key or next((names for names in unique if filled.issuperset(names)), ())


def with_index_scopes(table: Table, scopes: Mapping[str, syntax.KeyOptions]) -> Table:
    """Return the table with keys made GLOBAL or LOCAL by UPDATE INDEXES."""

    def changed(index: Index) -> Index:
        options = scopes.get(index.name.lower())
        return replace(index, unpartitioned=options.scope == "GLOBAL") if options else index

    return replace(table, indexes=tuple(map(changed, table.indexes)))


def check_unique_keys(table: Table, session: Session) -> None:
    """Raise DdlError for a unique key that lacks a partitioning column."""
    needed = partitioning_columns(table.partitioning)
    for index in table.indexes:
        if index.unique and needed - set(lower_names(part.name for part in index.columns if part.length < 0)):
            if index.primary and table.clustered:
                raise tidb_error("ddl:1503", "CLUSTERED INDEX")
            if not session.release.global_indexes:
                raise tidb_error("ddl:1503", "PRIMARY KEY" if index.primary else "UNIQUE INDEX")
            if not index.unpartitioned:
                raise tidb_error("ddl:8264", index.name)
    row_id = row_id_column(table)
    if row_id is not None and needed - {row_id.lower()}:
        raise tidb_error("ddl:1503", "PRIMARY KEY" if session.release.global_indexes else "CLUSTERED INDEX")


def check_partition_column(name: str, kind: str, table: Table) -> None:
    column = existing_column(table, name, tidb_error("ddl:1488"))
    type = family(column.type)
    of_key = type not in ("json", "vector") and (type != "text" or column.type.name == "tinytext")
    if not (of_key if kind == "key" else type in PARTITION_COLUMN_FAMILIES and column.type.name != "timestamp"):
        raise tidb_error("ddl:1659", name)


def remove_partitioning(spec: syntax.RemovePartitioning, alteration: Alteration) -> SubJobs:
    if alteration.target is not None:
        table_partitioning(alteration.target.table)

    def apply(before: Table) -> Table:
        indexes = tuple(replace(index, unpartitioned=False) for index in before.indexes)
        return replace(before, partitioning=None, indexes=indexes)

    yield SubJob(Action.REMOVE_PARTITIONING, apply)


def exchange(spec: syntax.ExchangePartition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of EXCHANGE PARTITION. Raises DdlError if the definitions differ."""
    if alteration.target is not None:
        check_exchange(spec, alteration.session.qualified_name(spec.table).schema, alteration.target)
    yield SubJob(Action.EXCHANGE_TABLE_PARTITION)


def check_exchange(spec: syntax.ExchangePartition, schema: str, target: TargetTable) -> None:
    table = target.table
    target.catalog.existing_database(schema)
    other = target.catalog.table(schema, spec.table.name)
    if other is None:
        raise tidb_error("schema:1146", schema, spec.table.name)
    old = table_partitioning(table)
    if other.partitioning is not None:
        raise tidb_error("ddl:1732", other.name)
    if other.foreign_keys:
        raise tidb_error("ddl:1740", other.name)
    if spec.partition.lower() not in partition_names(old):
        raise tidb_error("table:1735", spec.partition.lower(), table.name)
    check_same_definition(table, other)


def check_same_definition(table: Table, other: Table) -> None:
    """Raise DdlError if two definitions differ (TiDB: checkTableDefCompatible)."""
    if other.temporary:
        raise tidb_error("ddl:1733", other.name)
    if comparable_table(table) != comparable_table(other) or len(table.columns) != len(other.columns):
        raise tidb_error("ddl:1736")
    for column, other_column in zip(table.columns, other.columns):
        same_key = (column.name in table.primary_key) == (other_column.name in other.primary_key)
        check_same_column(column, other_column, same_key)
    if len(table.indexes) != len(other.indexes):
        raise tidb_error("ddl:1736")
    theirs = {index.name.lower(): index for index in other.indexes}
    for index in table.indexes:
        check_same_index(index, theirs.get(index.name.lower()))


def comparable_table(table: Table) -> tuple[object, ...]:
    """Return the properties that both tables must share, besides columns and keys."""
    bits = dict(table.options).get("SHARD_ROW_ID_BITS", "0")
    return tuple(column.shard_bits for column in table.columns), table.charset, table.collation, bits, table.clustered


def check_same_column(column: Column, theirs: Column, same_key: bool) -> None:
    if (column.generated == "virtual") != (theirs.generated == "virtual"):
        raise tidb_error("ddl:3106", "Exchanging partitions for non-generated columns")
    if comparable_column(column) != comparable_column(theirs) or not same_key:
        raise tidb_error("ddl:1736")
    if column.id != theirs.id:
        raise tidb_error("ddl:1731", f"column: {column.name}")


def comparable_column(column: Column) -> tuple[object, ...]:
    """Return the properties that both columns must share, besides keys."""
    has_length = family(column.type) in ("string", "text", "bit", "decimal")
    type = column.type if has_length else replace(column.type, length=0)
    expression = normalize(column.generated_expression)
    return column.name.lower(), type, column.not_null, column.auto_increment, expression


def check_same_index(index: Index, theirs: Index | None) -> None:
    if index.unpartitioned:
        raise tidb_error("ddl:1731", f"global index: {index.name}")
    if theirs is None or (index.unique, index.primary) != (theirs.unique, theirs.primary):
        raise tidb_error("ddl:1736")
    ours, others = ([(part.name.lower(), part.length) for part in each.columns] for each in (index, theirs))
    if ours != others:
        raise tidb_error("ddl:1736")
    if index.id != theirs.id:
        raise tidb_error("ddl:1731", f"index: {index.name}")


DAYS = {"DAY": 1, "WEEK": 7}
LOWEST = "-9223372036854775808"
MIDNIGHT = " 00:00:00"

Bound = int | date


def expand_interval(clause: syntax.PartitionClause, table: Table, zone: tzinfo) -> syntax.PartitionClause:
    """Return the partitioning with the partitions of its INTERVAL. Raises DdlError."""
    interval = clause.interval
    if interval is None:
        return clause
    if clause.definitions:
        return structs.replace(clause, interval=None)
    if interval.first is None or interval.last is None:
        raise unsupported_error("INTERVAL partitioning without FIRST PARTITION or LAST PARTITION")
    first, last = (parse_bound(constant_in_zone(each.text, zone)) for each in (interval.first, interval.last))
    bounds = list(bounds_between(first, last, bound_stepper(interval.every.text, interval.unit)))
    column = find_column(table, clause.method.columns[0]) if clause.method.columns else None
    lowest = "'0000-01-01'" if isinstance(first, date) else lowest_number(clause, column, table)
    midnight = MIDNIGHT if isinstance(first, date) and column and column.type.name == "datetime" else ""
    definitions = [range_partition("P_NULL", lowest)] * interval.null_partition
    definitions += [range_partition(f"P_LT_{value}{midnight}", bound_text(value, midnight)) for value in bounds]
    definitions += [range_partition("P_MAXVALUE", "MAXVALUE")] * interval.maxvalue_partition
    return structs.replace(clause, definitions=tuple(definitions), interval=None)


def lowest_number(clause: syntax.PartitionClause, column: Column | None, table: Table) -> str:
    """Return the lowest number of the column's type, or of 64 bits for an expression (TiDB: getLowerBoundInt)."""
    if column is None:
        return "0" if is_unsigned(clause.method.expression, table) else LOWEST
    bits = INTEGER_BITS.get(column.type.name, 64)
    return "0" if column.type.unsigned else str(-(1 << bits - 1))


def range_partition(name: str, value: str) -> syntax.PartitionDefinition:
    return syntax.PartitionDefinition(name, ((value,),), "less than")


def parse_bound(text: str) -> Bound:
    """Parse a bound: an integer, or a date in quotes, with or without midnight. Raises DdlError."""
    plain = text.strip().strip("'\"")
    try:
        return date.fromisoformat(plain[:10]) if "-" in plain[1:] else int(plain)
    except ValueError:
        raise unsupported_error("INTERVAL partitioning with other bounds than whole numbers and dates") from None


def bound_text(value: Bound, midnight: str = "") -> str:
    return f"'{value}{midnight}'" if isinstance(value, date) else str(value)


def rewrite_statement(definition: syntax.CreateTable, text: str, table: Table) -> str:
    """Return the statement of the job, with the partitions in place of INTERVAL (TiDB: buildTablePartitionInfo,
    AppendPartitionDefs)."""
    interval = definition.partitioning.interval if definition.partitioning else None
    if interval is None or table.partitioning is None:
        return text
    definitions = definition_texts(table.partitioning.partitions)
    return f"{text[: interval.at]}({definitions}){text[interval.at + interval.length :]}"


def definition_texts(partitions: Sequence[Partition]) -> str:
    """Return definitions of partitions as TiDB writes them (AppendPartitionDefs)."""
    return ",\n ".join(
        f"PARTITION {quote_name(partition.name)} VALUES LESS THAN ({partition.values[0][0]})"
        for partition in partitions
    )


def bound_stepper(every: str, unit: str) -> Callable[[Bound, int], Bound]:
    """Return a function that computes the bound a number of intervals after another one. Raises DdlError for units below
    a day."""
    amount = int(every.strip("'\" ")) if every.strip("'\" ").isdecimal() else 0
    if amount < 1 or unit.upper() not in ("", *MONTH_UNITS, *DAYS):
        raise unsupported_error("INTERVAL partitioning with that INTERVAL")
    if not unit:
        return lambda value, count: (
            value + timedelta(amount * count) if isinstance(value, date) else value + amount * count
        )
    months, days = amount * MONTH_UNITS.get(unit.upper(), 0), amount * DAYS.get(unit.upper(), 0)
    return lambda value, count: (
        later_bound(value, months * count, days * count) if isinstance(value, date) else value + amount * count
    )


def later_bound(day: date, months: int, days: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    first = date(count // 12, count % 12 + 1, 1)
    following = date((count + 1) // 12, (count + 1) % 12 + 1, 1)
    return first + timedelta(min(day.day, (following - first).days) - 1 + days)


def bounds_between(first: Bound, last: Bound, later: Callable[[Bound, int], Bound], known: int = 0) -> Iterator[Bound]:
    """Return the bounds from the first to the last, without as many as are `known`. Raises DdlError if the interval misses
    the last."""
    if type(first) is not type(last):
        raise unsupported_error("INTERVAL partitioning with bounds of two types")
    value, count = later(first, known), known
    while is_above_bound(last, value) and count < MAX_PARTITIONS:
        yield value
        count += 1
        value = later(first, count)
    if value != last:
        raise unsupported_error("LAST PARTITION, expr not matching INTERVAL")
    yield last


def is_above_bound(left: Bound, right: Bound) -> bool:
    if isinstance(left, date):
        return isinstance(right, date) and left > right
    return isinstance(right, int) and left > right


def partitions_up_to(partitions: tuple[Partition, ...], last: str) -> tuple[Partition, ...]:
    """Return the partitions that LAST PARTITION LESS THAN adds. Raises DdlError."""
    if partitions[-1].values == (("MAXVALUE",),):
        raise unsupported_error("LAST PARTITION when MAXVALUE partition exists")
    bounds, later = interval_of(partitions, "LAST PARTITION")
    midnight = MIDNIGHT if partitions[-1].values[0][0].strip("'").endswith(MIDNIGHT) else ""
    added = bounds_between(bounds[0], parse_bound(last), later, len(bounds))
    return tuple(Partition(f"P_LT_{value}{midnight}", ((bound_text(value, midnight),),)) for value in added)


def is_null_partition(partition: Partition) -> bool:
    """Return whether it is the one of NULL PARTITION, which FIRST PARTITION keeps."""
    return partition.name == "P_NULL"


def interval_of(partitions: Sequence[Partition], what: str) -> tuple[list[Bound], Callable[[Bound, int], Bound]]:
    """Return the bounds of INTERVAL partitions, and a function that computes the bound a number of intervals after
    another one. Raises DdlError unless all bounds are at equal intervals (TiDB: getPartitionIntervalFromTable)."""
    numbered = [each for each in partitions if not is_null_partition(each) and each.values != (("MAXVALUE",),)]
    bounds = [parse_bound(partition.values[0][0]) for partition in numbered]
    for every, unit in _intervals(*bounds[:2]) if len(bounds) > 1 else ():
        later = bound_stepper(every, unit)
        if all(later(bounds[0], count) == bound for count, bound in enumerate(bounds)):
            return bounds, later
    raise unsupported_error(f"{what}, does not seem like an INTERVAL partitioned table")


def _intervals(first: Bound, second: Bound) -> Iterator[tuple[str, str]]:
    """Yield the intervals that may be between two bounds."""
    if isinstance(first, date) and isinstance(second, date):
        months = (second.year - first.year) * 12 + second.month - first.month
        if months:
            yield str(months), "MONTH"
        yield str((second - first).days), "DAY"
    elif isinstance(first, int) and isinstance(second, int):
        yield str(second - first), ""


def last_partition(spec: syntax.IntervalPartitionSpec, alteration: Alteration) -> SubJobs:
    if spec.verb not in INTERVALS:
        what = "SPLIT LAST PARTITION" if spec.verb.startswith("SPLIT") else "MERGE FIRST PARTITION"
        raise unsupported_error(what)
    action, left = INTERVALS[spec.verb]
    if alteration.target is None:
        yield SubJob(action)
        return
    before = table_partitioning(alteration.target.table)
    after = left(constant_in_zone(spec.bound.text.strip(), alteration.session.zone), before)
    yield SubJob(
        action, with_partitions(after), written=written_spec(spec, before.partitions, after, alteration.target)
    )


def written_spec(
    spec: syntax.IntervalPartitionSpec, before: Sequence[Partition], after: Sequence[Partition], target: TargetTable
) -> WrittenSpec:
    """Return ADD or DROP PARTITION, which TiDB writes in place of LAST and FIRST (TiDB: AddTablePartitions,
    DropTablePartition)."""
    new: syntax.Spec
    if added := [partition for partition in after if partition not in before]:
        new = syntax.AddPartitions(tuple(range_partition(each.name, each.values[0][0]) for each in added))
        text = f"ADD PARTITION ({definition_texts(added)})"
    else:
        dropped = tuple(partition.name for partition in before if partition not in after)
        new = syntax.PartitionAction("DROP", dropped)
        text = f"DROP PARTITION {', '.join(map(quote_name, dropped))}"
    return WrittenSpec(new, f"{target.text[: spec.start]}{text}{target.text[spec.end :]}")


def from_bound(bound: str, old: Partitioning) -> tuple[Partition, ...]:
    if old.kind == "range":
        interval_of(old.partitions, "FIRST PARTITION")
    kept = tuple(filter(is_null_partition, old.partitions[:1]))
    others = old.partitions[len(kept) :]
    places = [place for place, partition in enumerate(others) if partition.values == ((bound,),)]
    if old.kind != "range" or not places or places[0] == 0:
        raise unsupported_error(
            "FIRST PARTITION, given value does not generate a list of partition names to be dropped"
        )
    return (*kept, *others[places[0] :])


def up_to_bound(last: str, old: Partitioning) -> tuple[Partition, ...]:
    """Return the partitions with further ones, as wide as the last, up to the bound."""
    if old.kind == "list":
        raise tidb_error("ddl:1492", "LIST")
    if old.kind != "range":
        raise unsupported_error("LAST PARTITION of HASH/KEY partitioned table")
    return (*old.partitions, *partitions_up_to(old.partitions, last))


INTERVALS: Mapping[str, tuple[int, Callable[[str, Partitioning], tuple[Partition, ...]]]] = {
    "FIRST": (Action.DROP_TABLE_PARTITION, from_bound),
    "LAST": (Action.ADD_TABLE_PARTITION, up_to_bound),
}
"""The job type of each verb, and the function that returns the partitions after it."""
