"""A table under a changefeed: whether it is replicated and why, its handle key, the destination of its rows, and SHOW
CREATE TABLE; and differences of tables before and after a statement, as consumers see them.

The tables before come from files of statements, which are executed as TiDB 8.5 would, including USE. Statements that
change no schema are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from simulator.errors import DdlError, UserError
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import Changefeed, DispatchRule
from simulator.ticdc.ddl import is_eligible
from simulator.ticdc.dispatch import matching_rule, route, router
from simulator.ticdc.dispatch.dispatchers import TS
from simulator.ticdc.rules import filter_rule, replication
from simulator.ticdc.table_info import flag_names, flags, handle_index, handle_key
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, object_key, with_database
from simulator.tidb.ddl.create_table_text import TextStyle, create_table_text
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import mysql_type
from simulator.tidb.parser.ddl import parse_errors, parse_statement
from simulator.tidb.parser.script import split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.definitions import CreateTable, Pair, Statement
from simulator.tidb.syntax.statements import CreateDatabase


@dataclass(frozen=True)
class ColumnView:
    name: str
    type: str
    null: bool
    default: str | None
    flags: int
    flag_names: tuple[str, ...]
    generated: str


@dataclass(frozen=True)
class KeyView:
    name: str
    columns: tuple[str, ...]
    unique: bool
    primary: bool


@dataclass(frozen=True)
class TableView:
    schema: str
    table: str
    columns: tuple[ColumnView, ...]
    keys: tuple[KeyView, ...]
    handle_key: tuple[str, ...]
    partitions: tuple[str, ...]


@dataclass(frozen=True)
class TableDifference:
    before: TableView | None
    """None for a table that the statement creates."""

    after: TableView | None
    """None for a table that it drops."""

    lines: tuple[str, ...]
    """The differences, for people."""


def schema_changes(
    before: Catalog, after: Catalog, renamed: Iterable[Pair], release: Release
) -> tuple[TableDifference, ...]:
    """Return every table that differs, in the order of the catalogs, renamed ones first."""
    moved = {object_key(*old): object_key(*new) for old, new in renamed}
    places = {place: place for place in [*before.tables, *after.tables] if place not in {*moved, *moved.values()}}
    pairs = [(before.tables.get(old), after.tables.get(new)) for old, new in {**moved, **places}.items()]
    return tuple(_change(old, new, release) for old, new in pairs if old != new)


def _change(before: Table | None, after: Table | None, release: Release) -> TableDifference:
    old, new = (table_view(table, release) if table else None for table in (before, after))
    return TableDifference(old, new, tuple(_lines(old, new)))


def table_view(table: Table, release: Release) -> TableView:
    bits = flags(table, release)
    parts = table.partitioning.partitions if table.partitioning else ()
    return TableView(
        table.schema,
        table.name,
        tuple(_column(column, bits[column.name]) for column in table.columns),
        tuple(_keys(table)),
        handle_key(table),
        tuple(part.name for part in parts),
    )


def _column(column: Column, bits: int) -> ColumnView:
    return ColumnView(
        column.name,
        mysql_type(column.type, True),
        not column.not_null,
        column.default,
        bits,
        flag_names(bits),
        column.generated,
    )


def _keys(table: Table) -> Iterator[KeyView]:
    """Yield the keys. The clustered integer primary key, which is no index in TiDB, comes first."""
    if table.primary_key and not any(index.primary for index in table.indexes):
        yield KeyView("PRIMARY", table.primary_key, True, True)
    for index in table.indexes:
        yield KeyView(index.name, tuple(part.name for part in index.columns), index.unique, index.primary)


def _lines(before: TableView | None, after: TableView | None) -> Iterator[str]:
    if before is None or after is None:
        what = before or after
        assert what is not None
        yield f"{'gone' if after is None else 'new'}: {what.schema}.{what.table}"
        return
    if (before.schema, before.table) != (after.schema, after.table):
        yield f"renamed: {before.schema}.{before.table} → {after.schema}.{after.table}"
    yield from _columns(before, after)
    yield from _differences("key", {key.name: key for key in before.keys}, {key.name: key for key in after.keys})
    if before.partitions != after.partitions:
        yield f"partitions {_listed(before.partitions)} → {_listed(after.partitions)}"
    if before.handle_key != after.handle_key:
        yield f"handle key {_listed(before.handle_key)} → {_listed(after.handle_key)}"


def _columns(before: TableView, after: TableView) -> Iterator[str]:
    old = {column.name: column for column in before.columns}
    new = {column.name: column for column in after.columns}
    yield from _differences("column", old, new)
    order = [name for name in new if name in old]
    if order != [name for name in old if name in new]:
        yield f"columns are now in the order {_listed(tuple(new))}"


Named = Mapping[str, ColumnView] | Mapping[str, KeyView]


def _differences(what: str, before: Named, after: Named) -> Iterator[str]:
    for name, shown in before.items():
        if name not in after:
            yield f"{what} {name} goes: {describe(shown)}"
    for name, other in after.items():
        if name not in before:
            yield f"{what} {name} comes: {describe(other)}"
        elif before[name] != other:
            yield f"{what} {name}: {describe(before[name])} → {describe(other)}"


def describe(shown: ColumnView | KeyView) -> str:
    if isinstance(shown, KeyView):
        kind = "primary" if shown.primary else "unique" if shown.unique else "not unique"
        return f"{kind} ({', '.join(shown.columns)})"
    default = "" if shown.default is None else f" default {shown.default!r}"
    return f"{shown.type}{'' if shown.null else ' not null'}{default}; {', '.join(shown.flag_names) or 'no flags'}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def catalog_from_files(files: Iterable[tuple[str, str]], database: str) -> Catalog:
    """Return the catalog after the statements of the files (name, text), starting in that database; raises UserError
    with the file name for a statement that TiDB rejects."""
    catalog = Catalog()
    for name, text in files:
        try:
            for current, statement, own in _statements(text, database):
                _, catalog = execute_in_catalog(
                    _with_existing_database(catalog, statement, current), statement, own, Session(current, None, V8_5)
                )
        except DdlError as error:
            raise UserError(f"{name}: {error}") from error
    return _ensure_database(catalog, database)


def _statements(text: str, database: str) -> Iterator[tuple[str, Statement, str]]:
    """Yield current database, statement and text of the DDL statements."""
    with parse_errors():
        parts = split_tokens(tokenize(text))
    for tokens in parts:
        if tokens[0].text.upper() == "USE" and len(tokens) == 2:
            database = tokens[1].text
            continue
        try:
            with parse_errors():
                statement = parse_statement(text, tokens, "")
        except DdlError as error:
            if error.code:
                raise
            continue
        yield database, statement, text


def _with_existing_database(catalog: Catalog, statement: Statement, database: str) -> Catalog:
    """Add a database that the files do not create; drop one that they create again."""
    if isinstance(statement, CreateDatabase):
        key = statement.name.lower()
        return replace(catalog, databases={name: known for name, known in catalog.databases.items() if name != key})
    return _ensure_database(catalog, statement.schema or database) if isinstance(statement, CreateTable) else catalog


def _ensure_database(catalog: Catalog, database: str) -> Catalog:
    known = not database or catalog.database(database)
    return catalog if known else with_database(catalog, DatabaseInfo(database))


@dataclass(frozen=True)
class TableExplained:
    table: TableView
    release: str
    architecture: str
    replicated: bool
    filter_rule: str
    """The rule of the table filter that decides."""

    eligible: bool
    """Whether it has a valid index, or force-replicate is on."""

    force_replicate: bool
    handle: str
    """The key that identifies a row: `primary key`, `clustered primary key`, `unique key x`, or empty."""

    dispatcher_rule: str
    """The matcher of the dispatch rule, or TiCDC's own `*.*`."""

    dispatcher: str
    hashed: tuple[str, ...]
    """Columns whose values the dispatcher hashes, besides the names of schema and table."""

    topic: str
    topic_rule: str
    """Its expression; empty for the default topic."""

    sent_as: str
    """Full name in messages, if table routing changes it."""

    created: str
    """What SHOW CREATE TABLE shows."""


def explain_table(table: Table, changefeed: Changefeed, release: Release) -> TableExplained:
    """Explain a table; raises ChangefeedError for a rule that TiCDC rejects, or that the table does not fit."""
    rules = replication(changefeed.rules, changefeed.case_sensitive, changefeed.ignore_txn_start_ts, release)
    routes, name = router(changefeed, release), (table.schema, table.name)
    to, (number, rule) = route(routes, table), matching_rule(routes, *name)
    return TableExplained(
        table_view(table, release),
        release.name,
        release.architecture,
        rules.table(*name),
        filter_rule(rules, *name),
        is_eligible(table, changefeed.force_replicate),
        changefeed.force_replicate,
        _handle(table),
        _rule(number, rule),
        to.dispatcher,
        tuple(column for column, _ in to.hashed),
        to.topic,
        rule.topic,
        ".".join(to.sent_as or ()),
        create_table_text(table, TextStyle.of(release)),
    )


def _handle(table: Table) -> str:
    index = handle_index(table)
    if not handle_key(table):
        return ""
    if index is None or index.primary:
        return "clustered primary key" if table.clustered else "primary key"
    return f"unique key {index.name}"


def _rule(number: int | None, rule: DispatchRule) -> str:
    matcher = ", ".join(rule.matcher)
    return f"{matcher} (TiCDC's own)" if number is None else f"{matcher} (sink.dispatchers[{number + 1}])"


def table_lines(explained: TableExplained) -> Iterator[str]:
    """Yield columns and keys, then what the changefeed does with the rows."""
    table = explained.table
    yield f"{table.schema}.{table.table} under TiCDC {explained.release} ({explained.architecture})"
    yield ""
    for column in table.columns:
        yield f"column       {column.name} {describe(column)}"
    for key in table.keys:
        yield f"key          {key.name} {describe(key)}"
    if table.partitions:
        yield f"partitions   {', '.join(table.partitions)}"
    yield ""
    yield f"filter       {'replicated' if explained.replicated else 'not replicated'}: {explained.filter_rule}"
    yield f"eligible     {_eligible_words(explained)}"
    handle = f"{', '.join(table.handle_key)}, of the {explained.handle}" if explained.handle else "none"
    yield f"handle key   {handle}"
    yield f"dispatcher   {explained.dispatcher}, by rule {explained.dispatcher_rule}{_hashed(explained)}"
    yield f"topic        {explained.topic}{f', of expression {explained.topic_rule}' if explained.topic_rule else ''}"
    if explained.sent_as:
        yield f"sent as      {explained.sent_as}"
    yield ""
    yield from explained.created.split("\n")


def _eligible_words(explained: TableExplained) -> str:
    if explained.handle:
        return "yes, it has a valid index"
    return (
        "yes, with force-replicate alone"
        if explained.eligible
        else "no, it has no valid index: a primary key, or a "
        "unique key whose columns are all NOT NULL and not virtual (force-replicate = true replicates it)"
    )


def _hashed(explained: TableExplained) -> str:
    if explained.dispatcher == TS:
        return ": the commit-ts"
    values = " and the values of " + ", ".join(explained.hashed) if explained.hashed else ""
    return f": schema, table{values}"
