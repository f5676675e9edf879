"""What statements of the stream make of the tables that a replay holds, as a consumer would.

A row goes with its table and its columns; what it had before a column came is the column's default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from simulator import tso
from simulator.consumer.decode import DdlEvent, time_of
from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, build_catalog, object_key, with_database
from simulator.tidb.ddl.definitions.defaults import value_text
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Column, Name, Table, visible_columns
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.alter import PartitionAction, RenameTo
from simulator.tidb.syntax.ddl import AlterTable, RenameTable
from simulator.tidb.syntax.definitions import ColumnDefault, Statement
from support.oracle.state import HIDDEN, Handle, State, count, handle_of, image_of, row_of
from support.oracle.stream import Placed

FIRST = "test"
"""The database that every new TiDB has."""

ALREADY = ("schema:1007", "schema:1008", "schema:1050", "schema:1051")
"""Databases and tables that were known before the stream made them, or were never known."""


def definitions(events: Iterable[Placed], tables: Mapping[Name, Table]) -> tuple[tuple[int, Mapping[Name, Table]], ...]:
    """The tables behind each statement of a stream in commit order, with its commit-ts; raises DdlError."""
    known, found = there(tables.values()), []
    seen: set[tuple[int, str]] = set()
    for event in (placed.event for placed in events):
        if isinstance(event, DdlEvent) and (sent := (time_of(event), event.query)) not in seen:
            seen.add(sent)
            known = changed(event, known, {})
            found.append((sent[0], {(table.schema, table.name): table for table in known.tables.values()}))
    return tuple(found)


def there(tables: Iterable[Table]) -> Catalog:
    """The tables with their databases, and `test`, which every new TiDB has."""
    known = build_catalog(tables)
    return known if known.database(FIRST) else with_database(known, DatabaseInfo(FIRST))


def changed(event: DdlEvent, known: Catalog, state: State) -> Catalog:
    """The catalog behind a statement; the rows in `state` become what the statement makes of them.

    Raises DdlError for a statement that does not fit the tables.
    """
    statement = parse_ddl(event.query)
    try:
        after = known if statement is None else _executed(statement, event, known)
    except DdlError as error:
        if error.code not in ALREADY:
            raise
        return known
    moved = dict(renames(statement, event.schema))
    rows = {new: state.pop(old) for old, new in moved.items() if old in state}
    state.update(rows)
    origin = {object_key(*new): object_key(*old) for old, new in moved.items()}
    for place, table in known.tables.items():
        if place not in after.tables:
            state.pop((table.schema, table.name), None)
    for place, table in after.tables.items():
        before = known.tables.get(origin.get(place, place))
        if before is not None and before is not table:
            name = table.schema, table.name
            state[name] = _converted(_left(state.get(name, {}), before, statement), before, table)
    return after


def _executed(statement: Statement, event: DdlEvent, known: Catalog) -> Catalog:
    session = Session(event.schema, known, V8_5, tso.sql_time(time_of(event)))
    after = execute(statement, event.query, session).catalog
    assert after is not None
    return after


def renames(statement: Statement | None, schema: str) -> Iterator[tuple[Name, Name]]:
    pairs = statement.pairs if isinstance(statement, RenameTable) else ()
    if isinstance(statement, AlterTable):
        pairs = tuple((statement.table, spec.table) for spec in statement.specs if isinstance(spec, RenameTo))
    for old, new in pairs:
        yield (old.schema or schema, old.name), (new.schema or schema, new.name)


def _left(rows: Mapping[Handle, bytes], table: Table, statement: Statement | None) -> Mapping[Handle, bytes]:
    """The rows that are not in a partition which the statement drops or empties."""
    specs = statement.specs if isinstance(statement, AlterTable) else ()
    gone = {
        name.lower()
        for spec in specs
        if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")
        for name in spec.names
    }
    return {handle: image for handle, image in rows.items() if not gone or _partition(image, table) not in gone}


def _partition(image: bytes, table: Table) -> str:
    """The partition of a row, by RANGE over an integer column; raises DdlError for other partitionings."""
    rule, columns = table.partitioning, row_of(image, table)
    column = rule.expression.strip("`") if rule else ""
    if rule is None or rule.kind != "range" or column not in columns:
        raise DdlError(f"which rows of {table.schema}.{table.name} a partition has is not known to the replay")
    value = columns[column]
    return next(
        partition.name.lower()
        for partition in rule.partitions
        if value is None or partition.values[0][0] == "MAXVALUE" or int(value) < int(partition.values[0][0])
    )


def _converted(rows: Mapping[Handle, bytes], before: Table, after: Table) -> dict[Handle, bytes]:
    """The rows of a table as another definition of it holds them."""
    known = {column.id: column for column in visible_columns(before)}
    made: dict[Handle, bytes] = {}
    for handle, image in rows.items():
        unkeyed = not handle_key(before)
        names = (column.name for column in visible_columns(before))
        texts = dict(zip(names, handle, strict=True)) if unkeyed else row_of(image, before)
        new = {column.name: _text(column, known.get(column.id), texts) for column in visible_columns(after)}
        if handle_key(after):
            made[handle_of(new, after)] = image_of(new, after)
        else:
            count(made, new, after, int(image) if unkeyed else 1)
    return made


def _text(column: Column, was: Column | None, texts: Mapping[str, str | None]) -> str | None:
    if was is None:
        return column.origin_default
    text = texts[was.name]
    if text is None or text == HIDDEN or was.type == column.type:
        return text
    return value_text(ColumnDefault("string", text), column.type)
