"""The events that TiCDC makes of a DDL job: one, or one for each table of a RENAME or CREATE of several tables.

Statements that TiCDC rewrites have database names. Classic TiCDC does not double back-quotes in names, which breaks the
statement. Sources: tiflow cdc/model/sink.go FromJobWithArgs, cdc/entry/schema_storage.go BuildDDLEvents (v5.4.0 …
v8.5.3); ticdc v8.5.4 and v8.5.7 logservice/schemastore/persist_storage_ddl_handlers.go, pkg/common/event/ddl_event.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.rename import rename_texts
from simulator.ticdc.ddl.sent_text import qualify_view_query, sent_text
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.session import Job
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.restore.expressions import quote_name
from simulator.tidb.syntax.alter import ExchangePartition
from simulator.tidb.syntax.ddl import AlterTable, CreateView
from simulator.tidb.syntax.definitions import CreateTable, Pair
from simulator.tidb.syntax.expressions import TableName

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


def sent_query(event: JobEvent, release: Release, sql_mode: frozenset[str] = frozenset()) -> str:
    """Return the text that is sent, read by `sql_mode`; raise DdlError if TiCDC fails on it."""
    if event.as_is:
        return event.query + event.ending
    return sent_text(event.query, release, sql_mode=frozenset() if event.restored else sql_mode) + event.ending


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
