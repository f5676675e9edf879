"""Relations: rows that a query reads, each a list, with their columns; the keys by which rows are sorted and told apart.

The row of a base table has the cells of its visible columns and its location behind them, the pair of a partition's
ordinal and a handle; None stands for a row that an outer join lacks. The row of a join is that of its left side and
that of its right side behind it. Any other row has values: those that an expression is read from.

ORDER BY, GROUP BY and DISTINCT use the same keys: values that are equal in TiDB have equal keys, and smaller values
have smaller keys. NULL comes first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.engine.context import UTC, StatementContext, time_zone
from simulator.tidb.engine.scope import Field, Fields, QueryScope, map_expression
from simulator.tidb.expressions.conversions import as_datetime, of_datetime
from simulator.tidb.expressions.expression import Context, Evaluate, Expression, Row, apply, apply_in_context, place
from simulator.tidb.expressions.json_documents import json_key
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.expressions.over_columns import table_column
from simulator.tidb.expressions.texts import compared_text
from simulator.tidb.model.table import INTERNAL_COLUMNS, ROW_ID, Column, Table, cached_by_table, places_of
from simulator.tidb.model.types import BIGINT
from simulator.tidb.storage.row_keys import row_id
from simulator.tidb.storage.tables import StoredTable
from simulator.tidb.syntax.queries import Limit

T = TypeVar("T")

Values: TypeAlias = list[Any]
"""A row of a relation."""

Rows: TypeAlias = "Callable[[StatementContext], Iterator[Values]]"

CHECKED_ROWS = 1024
"""How many rows a statement reads before it looks whether it was killed."""

ROW_SIZE, CELL_SIZE = 100, 60
"""About the bytes of a row in memory, and of each of its cells."""


class Base(NamedTuple):
    """A base table of a relation."""

    alias: str
    """As written: the table's alias, or its name."""

    schema: str
    """Empty if the table has an alias."""

    stored: StoredTable
    place: int
    """Where the rows have its location."""


class Relation:
    """Rows with their columns."""

    def __init__(self, fields: Fields, width: int, rows: Rows, bases: tuple[Base, ...] = ()) -> None:
        self.fields, self.width, self.rows, self.bases = fields, width, rows, bases
        self.depends = False
        """Whether the rows depend on those of a query around this one."""
        self.unprojected: tuple[Rows, Sequence[Expression], Sequence[Field | None]] | None = None
        """The rows that those of a query are made of, the columns as expressions over them, and the fields that they show;
        None if there are none."""

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        """Keep the rows for which conditions are true, and return those conditions that were not taken. It is called once,
        before the rows are read. Raises SqlError."""
        return conditions

    def filter(self, tests: Sequence[Evaluate]) -> None:
        """Keep the rows for which all conditions are true."""
        if tests:
            rows = self.rows
            self.rows = lambda context: filtered(rows(context), tests, context)


ONE_ROW = Relation(Fields(), 0, lambda context: iter(([],)))
"""The relation of a SELECT without FROM."""


def filtered(rows: Iterator[Values], tests: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    """Yield the rows for which all conditions are true."""
    if len(tests) == 1:
        (test,) = tests
        return (row for row in rows if test(row, context))
    return (row for row in rows if all(test(row, context) for test in tests))


def checked(rows: Iterator[Values], context: StatementContext) -> Iterator[Values]:
    """Yield rows until the statement is killed. Raises SqlError 1317, 3024."""
    for count, row in enumerate(rows, 1):
        if not count % CHECKED_ROWS:
            context.check()
        yield row


def held(rows: Iterator[Values], context: StatementContext) -> list[Values]:
    """Return all rows in memory. Raises SqlError 8175."""
    found: list[Values] = []
    while some := list(islice(rows, CHECKED_ROWS)):
        context.check()
        context.hold(len(some) * (ROW_SIZE + CELL_SIZE * len(some[0])))
        found += some
    return found


def materialised(rows: Rows) -> Callable[[StatementContext], list[Values]]:
    """Return rows that are read once in a statement."""
    known: StatementContext | None = None
    found: list[Values] = []

    def read(context: StatementContext) -> list[Values]:
        nonlocal known, found
        if known is not context:
            found = held(rows(context), context)
            known = context
        return found

    return read


# -- the columns of base tables ----------------------------------------------------------------------------------------


def table_fields(table: Table, alias: str, schema: str) -> Fields:
    """Return the columns of a base table, and `_tidb_rowid` if it has one."""
    known = _known_fields(table)
    fields = known.get((alias, schema))
    if fields is None:
        fields = known[alias, schema] = _new_fields(table, alias, schema)
    return fields


@cached_by_table
def _known_fields(table: Table) -> dict[tuple[str, str], Fields]:
    return {}


def _new_fields(table: Table, alias: str, schema: str) -> Fields:
    places = places_of(table)
    fields = [
        Field(
            column.name,
            cache(partial(_read_column, table, column, f"{table.schema}.{alias}.{column.name}")),
            schema,
            alias,
            column,
            table,
            slots=(places[column.name],) if column.name in places else (),
            extra=table.soft_delete is not None and column.name in INTERNAL_COLUMNS,
        )
        for column in table.columns
    ]
    if not table.clustered and table.schema.lower() != "information_schema":
        read = cache(partial(_read_row_id, len(places)))
        fields.append(Field(ROW_ID, read, schema, alias, ROW_ID_COLUMN, table, extra=True))
    return Fields(fields)


ROW_ID_COLUMN = Column(ROW_ID, BIGINT, not_null=True)


def _read_row_id(location: int, start: int) -> Expression:
    return Expression(apply(lambda where: row_id(where[1]), place(start + location)), "int", is_column=True)


def _read_column(table: Table, column: Column, shown: str, start: int) -> Expression:
    number = places_of(table).get(column.name)
    if number is not None:
        value = replace(column_value(column, place(start + number)), display_name=shown)
        return _in_session_zone(value) if column.type.name == "timestamp" else value
    location = start + len(places_of(table))

    def if_present(evaluate: Evaluate) -> Evaluate:
        return lambda row, context: None if row[location] is None else evaluate(row[start:], context)

    return map_expression(table_column(table, column), if_present)


def _in_session_zone(value: Expression) -> Expression:
    """Return a TIMESTAMP, whose cells are in UTC, in the session's time zone."""

    def local(context: Context, moment: str) -> str:
        return moment if context.zone in ("UTC", "+00:00") else _local_moment(moment, context.zone)

    return replace(value, evaluate=apply_in_context(local, value.evaluate), text=None)


@lru_cache(1 << 12)
def _local_moment(moment: str, zone: str) -> str:
    """Return a moment of UTC in a time zone. Zero stays zero."""
    instant = as_datetime(moment)
    return moment if instant is None else of_datetime(instant.replace(tzinfo=UTC).astimezone(time_zone(zone)))


# -- the columns of queries --------------------------------------------------------------------------------------------


class Selected(NamedTuple):
    """A column of a query: an expression over the rows below it."""

    name: str
    value: Expression
    field: Field | None = None
    """The field of the rows below that it shows unchanged."""


def export(columns: Sequence[Selected]) -> tuple[Fields, list[Evaluate]]:
    """Return the fields of the rows of a query, and how they are made of the rows below."""
    fields, makers = list[Field](), list[Evaluate]()
    for name, value, field in columns:
        first = len(makers)
        if field is not None and field.slots:
            makers += [place(field.start + slot) for slot in field.slots]
            read = partial(_read_moved, field.read, first - field.slots[0])
        else:
            parts = [value.evaluate, None if value.constant is not None else value.text, value.number]
            makers += [part for part in parts if part is not None]
            read = partial(_read_exported, value, first)
        shows = None if field is None else field.shown_column
        fields.append(Field(name, read, shows=shows, slots=tuple(range(first, len(makers)))))
    return Fields(fields), makers


def _read_moved(read: Callable[[int], Expression], places: int, start: int) -> Expression:
    return read(start + places)


def _read_exported(value: Expression, first: int, start: int) -> Expression:
    if value.kind == "null":
        return value
    parts = iter(range(start + first, start + first + 3))
    return replace(
        value,
        evaluate=place(next(parts)),
        text=None if value.text is None or value.constant is not None else place(next(parts)),
        number=None if value.number is None else place(next(parts)),
        constant=None,
        is_constant=False,
    )


def projected(rows: Iterator[Row], makers: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    """Yield the rows that are made of others."""
    for row in rows:
        yield [make(row, context) for make in makers]


# -- order and equality --------------------------------------------------------------------------------------------------


class SortKey(NamedTuple):
    evaluate: Evaluate
    descending: bool = False


def sort_key(value: Expression) -> Evaluate:
    """Return the key by which a value is sorted; None for NULL."""
    if value.kind == "string" and value.number is not None and value.column_type is not None:
        return value.number
    return distinct_key(value)


def distinct_key(value: Expression) -> Evaluate:
    """Return the key by which a value is compared with others; None for NULL."""
    if value.kind == "string" and not value.is_binary:
        return compared_text(value, value.evaluate, value.collation)
    return json_key(value) if value.kind == "json" else value.evaluate


def _of_pairs(number: int) -> Callable[[tuple[Sequence[Any], Any]], tuple[bool, Any]]:
    def key(pair: tuple[Sequence[Any], Any]) -> tuple[bool, Any]:
        value = pair[0][number]
        return value is not None, value

    return key


def sorted_by(pairs: list[tuple[Sequence[Any], T]], descending: Sequence[bool]) -> list[T]:
    """Sort pairs of keys and objects, and return the objects; those with equal keys stay in their order."""
    for number in reversed(range(len(descending))):
        pairs.sort(key=_of_pairs(number), reverse=descending[number])
    return [each for _, each in pairs]


def sorted_rows(rows: Iterator[Values], keys: Sequence[SortKey], context: StatementContext) -> list[Values]:
    found = held(rows, context)
    pairs: list[tuple[Sequence[Any], Values]] = [([key.evaluate(row, context) for key in keys], row) for row in found]
    return sorted_by(pairs, [key.descending for key in keys])


def distinct(rows: Iterator[Values], keys: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    """Yield the first row of each combination of keys."""
    known = set()
    for row in rows:
        key = tuple([key(row, context) for key in keys])
        if key not in known:
            context.hold(100)
            known.add(key)
            yield row


def limited(rows: Iterable[T], limit: Limit | None) -> Iterable[T]:
    return rows if limit is None else islice(rows, limit.offset, min(limit.offset + limit.count, sys.maxsize))
