"""What a statement names: tables, columns, partitions, variables, and a moment of the past.

Tables, columns and partitions are resolved before a statement looks at any row. A user variable has a type, which is
that of the value that it was given last; an expression takes the type that it has before the statement (tidb
pkg/expression/builtin_other.go, getVarFunctionClass). AS OF TIMESTAMP names a moment
(pkg/sessiontxn/staleread/processor.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import structs

from simulator import tso
from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.context import COMPUTED, EPOCH, StatementContext, settings_of, time_zone
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import SqlSession, variable_text
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.comparisons import as_moment
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.conversions import as_datetime, as_text, moment_of_text, parse_printed_moment
from simulator.tidb.expressions.expression import Evaluate, Expression, Row, fixed
from simulator.tidb.expressions.literals import number_value, text_value
from simulator.tidb.model.table import ROW_ID, Column, Table, columns_by_name, row_id_column
from simulator.tidb.syntax.expressions import TableName
from simulator.tidb.system_variables import VARIABLES, is_text
from simulator.tidb.values.durations import duration_micros


def resolve_table(context: StatementContext, named: TableName, verb: str) -> Table:
    """Return the table that a statement writes to; `verb` is TiDB's word in the error for a view: `insert into`.

    Raises SqlError 1046, 1142, 1146, and 1105 for a view or a sequence (tidb pkg/planner/core/planbuilder.go, buildInsert).
    """
    catalog, schema = context.catalog, named.schema or context.session.settings.database
    if not schema:
        raise sql_error(1046)
    place = object_key(schema, named.name)
    table = catalog.tables.get(place)
    if table is not None:
        return table
    check_denied(verb.split()[0].upper(), named, context.session.settings)
    for kind, objects in (("view", catalog.views), ("sequence", catalog.sequences)):
        if place in objects:
            if verb == "UPDATE":
                raise sql_error(1288, named.name, verb)
            raise sql_error(1105, f"{verb} {kind} {named.name} is not supported now")
    raise sql_error(1146, schema, named.name)


DENIED = ("information_schema", "metrics_schema", "performance_schema")
"""Databases that nobody may change."""


def check_denied(verb: str, named: TableName, settings: SqlSession) -> None:
    """Raise SqlError 1142 for a table of theirs (tidb pkg/privilege/privileges.go, RequestVerification)."""
    if (named.schema or settings.database).lower() in DENIED:
        user, _, host = settings.account.partition("@")
        denied = f"{verb} command denied to user '{user}'@'{host}' for table '{named.name.lower()}'"
        raise sql_error_with_text(1142, denied)


def resolve_columns(table: Table, names: Sequence[str]) -> list[Column]:
    """Return the columns of INSERT's list. Raises SqlError 1054, 1110, and 1105 for `_tidb_rowid`."""
    columns, resolved = columns_by_name(table), list[Column]()
    seen = set()
    column_names = [name for name in names if not is_row_id(name, table)]
    for name in column_names:
        column = columns.get(name.lower())
        if column is None:
            raise sql_error(1054, name, "field list")
        if column.name in seen:
            raise sql_error(1110, column.name)
        seen.add(column.name)
        resolved.append(column)
    if len(column_names) < len(names):
        raise row_id_write_error()
    return resolved


def is_row_id(name: str, table: Table) -> bool:
    """Return whether an assigned column is `_tidb_rowid` (tidb pkg/table/column.go, FindCols)."""
    return name.lower() == ROW_ID and row_id_column(table) is None


def row_id_write_error() -> SqlError:
    return sql_error(1105, f"insert, update and replace statements for {ROW_ID} are not supported")


def resolve_partitions(table: Table, names: Sequence[str]) -> list[int]:
    """Return the ordinals of the partitions in PARTITION (…). Raises SqlError 1735 and 1747."""
    rule = table.partitioning
    if rule is None:
        raise sql_error(1747)
    ordinals = {partition.name.lower(): place for place, partition in enumerate(rule.partitions)}
    for name in names:
        if name.lower() not in ordinals:
            raise sql_error(1735, name, table.name)
    return [ordinals[name.lower()] for name in names]


SourcePart: TypeAlias = syntax.TableSource | syntax.DerivedTable


def source_parts(source: syntax.Source) -> list[SourcePart]:
    """Return the tables and queries that a source joins."""
    return [*source_parts(source.left), *source_parts(source.right)] if isinstance(source, syntax.Join) else [source]


def part_name(part: SourcePart, database: str) -> tuple[str, str]:
    """Return the schema (empty for an alias) and the name that mean a part of a source, in lower case, given the current
    database."""
    if isinstance(part, syntax.DerivedTable) or part.alias:
        return "", part.alias.lower()
    return (part.name.schema or database).lower(), part.name.name.lower()


PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d{0,18})(\.\d{1,18})?")


def compile_variable(tree: syntax.Variable | syntax.AssignedVariable, scope: QueryScope) -> Expression:
    """Return the value of a variable. Raises SqlError."""
    if isinstance(tree, syntax.AssignedVariable):
        return _assigned(tree, scope)
    if tree.scope == "user":
        return _user_variable(tree.name.lower(), scope)
    return _system_variable(tree, scope.context)


# -- user variables ----------------------------------------------------------------------------------------------------


def _user_variable(name: str, scope: QueryScope) -> Expression:
    """Return the value of `@name`, which may change from row to row in a statement that has assignments."""
    session = scope.context.session
    if ":=" in session.text:
        scope.compilation.varying += 1
    kind = session.settings.variable_kinds.get(name, "string")
    read, like = READERS.get(kind, READERS["string"])

    def evaluate(row: Row, context: Any) -> Any:
        value = context.session.settings.variables.get(name)
        return None if value is None else read(value)

    scale = 0
    if kind in ("decimal", "timestamp", "time"):
        value = session.settings.variables.get(name)
        scale = 0 if value is None else len(value.partition(b".")[2])
    return structs.replace(like, evaluate=evaluate, scale=scale)


def _moment(value: bytes) -> str:
    return parse_printed_moment(value.decode())


READERS: Mapping[str, tuple[Callable[[bytes], Any], Expression]] = {
    "string": (
        lambda value: value.decode("utf-8", "surrogateescape"),
        Expression(fixed(None), "string", coercibility=2),
    ),
    "hex": (
        lambda value: value.decode("latin-1"),
        Expression(fixed(None), "string", "binary", coercibility=2, is_binary=True),
    ),
    "integer": (int, Expression(fixed(None), "int")),
    "unsigned": (int, Expression(fixed(None), "uint")),
    "decimal": (lambda value: Decimal(value.decode()), Expression(fixed(None), "decimal")),
    "float": (float, Expression(fixed(None), "real")),
    "date": (_moment, Expression(fixed(None), "date")),
    "timestamp": (_moment, Expression(fixed(None), "datetime")),
    "time": (lambda value: duration_micros(value.decode()), Expression(fixed(None), "time")),
}
"""By the kind of a variable: what returns its value, and what an expression with it is like."""

KINDS = {
    "bool": "integer",
    "int": "integer",
    "uint": "unsigned",
    "decimal": "decimal",
    "real": "float",
    "date": "date",
    "datetime": "timestamp",
    "time": "time",
}
"""The kind of a variable by that of its value; `string` for other kinds, `hex` for a binary string."""


def _assigned(tree: syntax.AssignedVariable, scope: QueryScope) -> Expression:
    """Return the value of `@name := value`, which is assigned for each row."""
    scope.compilation.varying += 1
    name, value = tree.name.lower(), compile_expression(tree.value, scope)
    text = as_text(value)

    def assigned(evaluate: Evaluate) -> Evaluate:
        def compute(row: Row, context: Any) -> Any:
            result = evaluate(row, context)
            shown = None if result is None else text(row, context)
            session = context.session
            session.settings = with_user_variable(session.settings, name, value, shown)
            return result

        return compute

    plain = structs.replace(value, constant=None, is_constant=False, is_column=False, text=None, number=None)
    return structs.replace(plain, evaluate=assigned(value.evaluate))


def with_user_variable(settings: SqlSession, name: str, value: Expression, shown: str | None) -> SqlSession:
    """Return the settings with a user variable, given the text of its value."""
    kind = "hex" if value.is_binary else KINDS.get(value.kind, "string")
    cell = None if shown is None else shown.encode(*(("latin-1",) if kind == "hex" else ("utf-8", "surrogateescape")))
    if settings.variable_kinds.get(name) != kind:
        settings = replace(settings, variable_kinds={**settings.variable_kinds, name: kind})
    return replace(settings, variables={**settings.variables, name: cell})


# -- system variables --------------------------------------------------------------------------------------------------


def _system_variable(tree: syntax.Variable, context: StatementContext) -> Expression:
    name, is_global = tree.name.lower(), tree.scope == "global"
    session, known = context.session, VARIABLES.get(tree.name.lower())
    if known is not None and known.scope in ("session", "global") and tree.scope not in ("", known.scope):
        raise sql_error(1238, name, known.scope.upper())
    if name in COMPUTED:
        setting = COMPUTED[name](session, context)
    else:
        setting = variable_text(settings_of(session.settings, is_global), name)
    if name == "timestamp":
        return Expression(fixed(Decimal(setting)), "decimal", scale=6, is_constant=True)
    if PLAIN_NUMBER.fullmatch(setting) and not is_text(name):
        return number_value(setting)
    return structs.replace(text_value(setting), constant=None)


def read_as_of(moment: syntax.Node | None, scope: QueryScope) -> None:
    """Let a statement read the moment of one of its tables, which is that of all. Raises SqlError 8135."""
    context = scope.context
    if moment is None and context.as_of is None:
        context.as_of = 0
    if moment is None or context.session.transaction is not None:
        if moment is not None:
            raise sql_error_with_text(8135, "invalid as of timestamp: as of timestamp can't be set in transaction.")
        if context.as_of:
            raise sql_error_with_text(8135, "can not set different time in the as of")
        return
    ts = moment_ts(moment, scope)
    if context.as_of not in (None, ts):
        raise sql_error_with_text(8135, "can not set different time in the as of")
    if tso.physical(ts) > context.now_ms:
        raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
    context.as_of = ts
    context.read_at(ts)


def moment_ts(moment: syntax.Node, scope: QueryScope) -> int:
    """Return the ts of the moment of AS OF TIMESTAMP. Raises SqlError 8135."""
    value = compile_expression(moment, QueryScope(scope.compilation))
    shown = as_moment(value)((), scope.context) if value.kind != "null" else None
    instant: datetime | None = None if shown is None else as_datetime(shown)
    if instant is None:
        raise sql_error_with_text(8135, "invalid as of timestamp: as of timestamp cannot be NULL")
    return _ts(instant, scope.context.zone)


@lru_cache(64)
def _parsed_snapshot(text: str, zone: str) -> int | None:
    if text.isdecimal() and len(text) > 14:
        return int(text)
    shown = moment_of_text(text)
    instant: datetime | None = None if shown is None else as_datetime(shown)
    return None if instant is None else _ts(instant, zone)


def _ts(instant: datetime, zone: str) -> int:
    return int(tso.compose(round(instant.replace(tzinfo=time_zone(zone)).timestamp() * 1000)))


def snapshot_ts(text: str, session: Session) -> int:
    """Return the ts of tidb_snapshot (tidb pkg/sessionctx/variable/varsutil.go, setSnapshotTS). Raises SqlError 1292, and
    8055 if it is older than the history that is kept."""
    ts, now_ms, database = _parsed_snapshot(text, session.settings.time_zone), session.now_ms, session.database
    if ts is None:
        raise sql_error_with_text(1292, f"Incorrect timestamp value: '{text}'")
    if tso.physical(ts) > now_ms:
        raise sql_error_with_text(1105, "cannot set read timestamp to a future time")
    if database.history_ms is not None and tso.physical(ts) < now_ms - database.history_ms:
        safe = EPOCH + timedelta(milliseconds=now_ms - database.history_ms)
        raise sql_error_with_text(8055, f"snapshot is older than GC safe point {safe:%Y-%m-%d %H:%M:%S +0000 UTC}")
    return ts


def past_of_session(session: Session) -> int | None:
    """Return the ts of the past that queries of a session read: by tidb_snapshot, or outside of a transaction
    tidb_read_staleness; None for the present."""
    known = session.settings.settings
    if snapshot := known.get("tidb_snapshot"):
        return snapshot_ts(snapshot, session)
    staleness = known.get("tidb_read_staleness", "")
    if staleness.lstrip("-").isdecimal() and int(staleness) < 0:
        return int(tso.compose(session.now_ms + int(staleness) * 1000))
    return None
