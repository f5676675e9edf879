"""The events that TiCDC makes of a DDL job: one, or one for each table of a RENAME or CREATE of several tables; their routing.

Statements that TiCDC rewrites have database names. Classic TiCDC does not double back-quotes in names, which breaks the
statement. Sources: tiflow cdc/model/sink.go FromJobWithArgs, cdc/entry/schema_storage.go BuildDDLEvents (v5.4.0 …
v8.5.3); ticdc v8.5.4 and v8.5.7 logservice/schemastore/persist_storage_ddl_handlers.go, pkg/common/event/ddl_event.go.

Table routing changes every name of a table in a text, including that of a common table expression. A name without a
database has the statement's. An event keeps its names if no name in its text changes (ticdc v8.5.7 pkg/routing/router.go
ApplyToDDLEvent, ddl_query_rewriter.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from msgspec import Struct, structs
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import DdlError, SchemaError
from simulator.releases import Release
from simulator.ticdc.ddl.rename import rename_texts
from simulator.ticdc.ddl.sent_text import qualify_view_query, sent_text
from simulator.ticdc.dispatch import TableRoutes
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.session import Job
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.parser.query import parse_query
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore import quote_name, quote_table
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.syntax.alter import ExchangePartition
from simulator.tidb.syntax.definitions import CreateTable, EmbeddedQuery, Pair, Statement
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.syntax.statements import AlterDatabase, AlterTable, CreateDatabase, CreateView, DropDatabase

WITHOUT_VALIDATION = " WITHOUT VALIDATION"


@dataclass(frozen=True)
class JobEvent:
    """A DDL event of TiCDC."""

    type_code: int
    schema: str
    table: str
    """Empty for a statement on a database."""

    query: str
    """The text before it is restored."""

    old: TableName | None = None
    """The name that chooses the topic, if it differs from the event's (RENAME, EXCHANGE PARTITION)."""

    as_is: bool = False
    """Whether the query is sent without being restored."""

    restored: bool = False
    """Whether the query is restored already, and so read without a sql_mode."""

    ending: str = ""
    """Text after the restored query."""

    sent_as: TableName | None = None
    """The name in messages, if table routing changes it."""

    @property
    def sent_name(self) -> TableName:
        """Schema and table in messages."""
        return self.sent_as or TableName(self.schema, self.table)


def job_events(job: Job, release: Release) -> tuple[JobEvent, ...]:
    """Return the events of a job, in order."""
    rule = RULES.get(job.code)
    return tuple(rule(job, release)) if rule else (_plain(job, release),)


def sent_query(event: JobEvent, release: Release, charset: str = "", sql_mode: frozenset[str] = frozenset()) -> str:
    """Return the text that is sent, read by `sql_mode`; raise DdlError if TiCDC fails on it. `charset` is the job's."""
    if event.as_is:
        return event.query + event.ending
    return sent_text(event.query, release, charset, frozenset() if event.restored else sql_mode) + event.ending


def _plain(job: Job, release: Release) -> JobEvent:
    local = job.code in (Action.ADD_FULLTEXT_INDEX, Action.CREATE_HYBRID_INDEX)
    return JobEvent(job.code, job.schema, job.table, job.query, job.renames[0][0] if job.renames else None, as_is=local)


def _dropped(job: Job, release: Release) -> Iterator[JobEvent]:
    event = _plain(job, release)
    if not release.rebuilds_drop:
        yield event
        return
    what = "TABLE" if job.code == Action.DROP_TABLE else "VIEW"
    query = f"DROP {what} {_full_name(job.schema, job.table, release)}"
    yield replace(event, query=query, as_is=not release.restores_rebuilt)


def _renamed_pairs(job: Job, release: Release) -> Iterator[JobEvent]:
    if not release.splits_renames:
        yield JobEvent(job.code, job.renames[-1][1].schema.lower(), "", job.query)
        return
    as_is = not release.restores_rebuilt
    ending = ";" if release.keeps_statement_end else ""
    pairs = tuple(map(_lowered, job.renames)) if release.renames_in_lower_case else job.renames
    texts = rename_texts(pairs, job.renames_as_written, release)
    for (old, _), (_, name), text in zip(job.renames, pairs, texts, strict=True):
        yield JobEvent(Action.RENAME_TABLE, *name, text.removesuffix(";"), old, as_is=as_is, ending=ending)


def _lowered(pair: Pair) -> Pair:
    old, new = (TableName(name.schema.lower(), name.name) for name in pair)
    return old, new


def _exchanged(job: Job, release: Release) -> Iterator[JobEvent]:
    """Yield one event of one of the two tables, in the topic of the other."""
    event, plain = _plain(job, release), job.exchanged_table
    assert plain is not None
    query = _exchange_text(job, plain, release) if release.rebuilds_exchange else job.query
    event = replace(event, query=query, old=plain, as_is=not release.restores_rebuilt)
    if release.exchange_event_of_plain:
        event = replace(event, schema=plain.schema, table=plain.name, old=TableName(job.schema, job.table))
    yield event


def _created_tables(job: Job, release: Release) -> Iterator[JobEvent]:
    if not release.create_tables_code:
        yield _plain(job, release)
        return
    ending = ";" if release.keeps_statement_end else ""
    for statement in job.tables:
        query = restore_statement(statement)
        yield JobEvent(release.create_tables_code, job.schema, statement.name, query, restored=True, ending=ending)


def _renamed(job: Job, release: Release) -> Iterator[JobEvent]:
    event = _plain(job, release)
    if release.rename_event_in_lower_case:
        event = replace(event, schema=job.schema.lower())
    if release.rebuilds_rename:
        (query,) = rename_texts(job.renames, job.renames_as_written, release)
        event = replace(event, query=query, as_is=not release.restores_rebuilt)
    yield event


def _created(job: Job, release: Release) -> Iterator[JobEvent]:
    """Yield the event; LIKE gets its database where it names none and that is another one than the new table's."""
    event, statement, like = _plain(job, release), job.statement, job.like
    if release.create_like_finds_schema and isinstance(statement, CreateTable) and statement.like and like:
        if not statement.like.schema and like.schema.lower() != job.schema.lower():
            named = TableName(like.schema, statement.like.name)
            event = replace(event, query=restore_statement(structs.replace(statement, like=named)), restored=True)
    yield event


def _created_view(job: Job, release: Release) -> Iterator[JobEvent]:
    event, statement = _plain(job, release), job.statement
    if isinstance(statement, CreateView) and release.view_finds_schemas:
        named = qualify_view_query(statement, job.schema, job.database)
        event = replace(event, query=restore_statement(named), restored=True) if named is not statement else event
    yield event


def _full_name(schema: str, table: str, release: Release) -> str:
    return f"{_quoted(schema, release)}.{_quoted(table, release)}"


def _exchange_text(job: Job, plain: TableName, release: Release) -> str:
    """Return the text of EXCHANGE PARTITION that TiCDC writes.

    TiCDC takes the partition and WITHOUT VALIDATION from the restored text, or it copies the partition's name from the
    typed text, with back-quotes, and looks for WITHOUT VALIDATION at the very end of it, or not at all.
    """
    if release.exchange_from_restored:
        spec = _exchange(job)
        partition = spec.partition if release.exchange_keeps_quotes else spec.partition.replace("`", "")
        without = not spec.validation
    else:
        partition = _between(job.query, "EXCHANGE PARTITION", "WITH TABLE")
        without = job.query.upper().endswith(WITHOUT_VALIDATION.strip())
    table, other = _full_name(job.schema, job.table, release), _full_name(*plain, release)
    text = f"ALTER TABLE {table} EXCHANGE PARTITION {_quoted(partition, release)} WITH TABLE {other}"
    return text + WITHOUT_VALIDATION * (without and release.exchange_keeps_validation)


def _exchange(job: Job) -> ExchangePartition:
    assert isinstance(job.statement, AlterTable)
    return next(spec for spec in job.statement.specs if isinstance(spec, ExchangePartition))


def _quoted(name: str, release: Release) -> str:
    return quote_name(name) if release.escapes_rebuilt_names else f"`{name}`"


def _between(text: str, begin: str, end: str) -> str:
    """Return the text between two phrases. TiCDC does not check for the first one, and panics without the other."""
    upper = "".join(letter.upper() if len(letter.upper()) == 1 else letter for letter in text)
    start, stop = upper.find(begin) + len(begin), upper.find(end)
    if stop < start:
        raise DdlError(f"TiCDC panics: it looks for {end!r} with one space in {text!r}", "CDC:ErrUnexpected")
    return text[start:stop].strip()


Rule = Callable[[Job, Release], Iterable[JobEvent]]

RULES: Mapping[int, Rule] = {
    Action.CREATE_TABLE: _created,
    Action.CREATE_TABLES: _created_tables,
    Action.CREATE_VIEW: _created_view,
    Action.DROP_TABLE: _dropped,
    Action.DROP_VIEW: _dropped,
    Action.RENAME_TABLE: _renamed,
    Action.RENAME_TABLES: _renamed_pairs,
    Action.EXCHANGE_TABLE_PARTITION: _exchanged,
}


Target = Callable[[str, str], TableName]
"""Return the names that messages have for a schema and a table, or for a schema and an empty table."""

UNSUPPORTED = (Action.ADD_FULLTEXT_INDEX, Action.CREATE_HYBRID_INDEX)


def route_event(event: JobEvent, query: str, routes: TableRoutes) -> tuple[JobEvent, str]:
    """Return the event and the text that is sent; raise DdlError (CDC:ErrTableRoutingFailed) if TiCDC stops."""
    if not routes.rules:
        return event, query
    if event.type_code in UNSUPPORTED:
        text = f"table routing does not support ddl type {event.type_code}, query: {query}"
        raise DdlError(text, "CDC:ErrTableRoutingFailed")
    statement = parse_ddl(query)
    routed_statement = route_statement(statement, event.schema, routes.target) if statement else None
    if statement is None or routed_statement is None or routed_statement == statement:
        return event, query
    ending = ";" if query.endswith(";") else ""
    return replace(event, sent_as=routes.target(event.schema, event.table)), restore_statement(
        routed_statement
    ) + ending


def route_statement(statement: Statement, schema: str, target: Target) -> Statement:
    """Return the statement with routed names, or the same object if none changes; `schema` is that of bare names."""
    if isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase):
        return structs.replace(statement, name=target(statement.name, "").schema)
    names = RoutedNames(schema, target)
    routed_statement: Statement = _with_targets(statement, names)
    return routed_statement if any(old != new for old, new in names.targets.items()) else statement


@dataclass(frozen=True)
class RoutedNames:
    """The names of a statement, with the targets of those routed so far."""

    schema: str
    target: Target
    targets: dict[TableName, TableName] = field(default_factory=dict)

    def of(self, name: TableName) -> TableName:
        full = TableName(name.schema or self.schema, name.name)
        self.targets[full] = self.target(*full)
        return self.targets[full]


def _with_targets(value: Any, names: RoutedNames) -> Any:
    """Return a value of a syntax tree with every table name in it routed."""
    if isinstance(value, TableName):
        return names.of(value)
    if isinstance(value, tuple):
        return tuple(_with_targets(part, names) for part in value)
    if isinstance(value, EmbeddedQuery):
        return _query(value, names)
    if not isinstance(value, Struct):
        return value
    inner = {name: _with_targets(getattr(value, name), names) for name in value.__struct_fields__}
    if isinstance(value, CreateTable):
        inner["schema"], inner["name"] = names.of(TableName(value.schema, value.name))
    return structs.replace(value, **inner)


def _query(query: EmbeddedQuery, names: RoutedNames) -> EmbeddedQuery:
    """Return a view's SELECT with routed tables, and with routed columns that are qualified by database and table."""
    text = query.text
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        spans: list[tuple[int, int, TableName]] = []
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier):
                first = table.args.get("db") or table.this
                spans.append((*_span(first, table.this), names.of(TableName(table.db, table.name))))
        targets = {(old.schema.lower(), old.name.lower()): new for old, new in names.targets.items()}
        for column in tree.find_all(exp.Column):
            target = targets.get((column.db.lower(), column.table.lower())) if column.db else None
            if target:
                spans.append((*_span(column.args["db"], column.args["table"]), target))
        for start, end, name in sorted(spans, reverse=True):
            text = f"{text[:start]}{quote_table(name.schema, name.name)}{text[end:]}"
        return parse_tokens(text, tokenize(text), parse_query)
    except (SqlglotError, SchemaError, RecursionError, KeyError) as error:
        raise DdlError(f"table routing failed: {error}", "CDC:ErrTableRoutingFailed") from error


def _span(first: exp.Expr, last: exp.Expr) -> tuple[int, int]:
    return int(first.meta["start"]), int(last.meta["end"]) + 1
