"""INTERVAL partitioning: its partitions, and ALTER TABLE … FIRST and LAST PARTITION.

Bounds are integers or dates, at equal intervals (TiDB: pkg/ddl/partition.go, generatePartitionDefinitionsFromInterval).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta, tzinfo

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.alter_partitions import MAX_PARTITIONS, table_partitioning, with_partitions
from simulator.tidb.ddl.alteration import Alteration, SubJob, SubJobs, TargetTable, WrittenSpec
from simulator.tidb.ddl.catalog import find_column
from simulator.tidb.ddl.expressions import constant_in_zone
from simulator.tidb.ddl.partition_values import is_unsigned
from simulator.tidb.errors import tidb_error, unsupported_error
from simulator.tidb.model.table import Column, Partition, Partitioning, Table
from simulator.tidb.model.types import INTEGER_BITS
from simulator.tidb.restore.expressions import quote_name

MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
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
        return replace(clause, interval=None)
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
    return replace(clause, definitions=tuple(definitions), interval=None)


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
    if amount < 1 or unit.upper() not in ("", *MONTHS, *DAYS):
        raise unsupported_error("INTERVAL partitioning with that INTERVAL")
    if not unit:
        return lambda value, count: (
            value + timedelta(amount * count) if isinstance(value, date) else value + amount * count
        )
    months, days = amount * MONTHS.get(unit.upper(), 0), amount * DAYS.get(unit.upper(), 0)
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
