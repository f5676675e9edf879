"""DELETE. Each matched row is deleted once (tidb pkg/executor/delete.go)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.engine.queries.compilation import new_compilation
from simulator.tidb.engine.queries.relation import Base
from simulator.tidb.engine.queries.statements import match
from simulator.tidb.engine.scopes.names import SourcePart, part_name, resolve_table, source_parts
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.outcome import StatementOutcome
from simulator.tidb.engine.writes.foreign_keys import enforce_foreign_keys
from simulator.tidb.engine.writes.rows import Location, RowWriter
from simulator.tidb.engine.writes.soft_deletes import marking, marks_instead
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import visible_columns


def delete(statement: syntax.Delete, context: StatementContext) -> StatementOutcome:
    """Execute DELETE. Raises SqlError."""
    parts = source_parts(statement.source)
    targets = [_target(name, parts, context) for name in statement.targets] or parts[:1]
    common = () if statement.common is None else tuple(each.name.lower() for each in statement.common.tables)
    for target in targets:
        if isinstance(target, syntax.DerivedTable):
            raise sql_error(1288, target.alias, "DELETE")
        if target.name.schema or target.name.name.lower() not in common:
            resolve_table(context, target.name, "delete")
    source = statement.source
    if statement.partitions and isinstance(source, syntax.TableSource):
        source = replace(source, partitions=statement.partitions)
    compilation = new_compilation(context)
    rows = match(source, statement.where, statement.order, statement.limit, statement.common, compilation)
    bases = [_base(target, rows.bases, context) for target in targets]
    writers = {base.stored: RowWriter(base.stored, context) for base in bases}
    marks = marks_instead(bases, context)
    write = {stored: marking(writer, context) if marks else writer.delete for stored, writer in writers.items()}
    deleted: set[tuple[object, Location]] = set()
    for row in rows.rows(context):
        for base in bases:
            location = row[base.place]
            if location is not None and (base.stored, location) not in deleted:
                deleted.add((base.stored, location))
                first = base.place - len(visible_columns(base.stored.table))
                write[base.stored](location, row[first : base.place])
    enforce_foreign_keys(context, list(writers.values()))
    return StatementOutcome(affected=len(deleted), warnings=tuple(context.warnings))


def _target(name: syntax.TableName, parts: Sequence[SourcePart], context: StatementContext) -> SourcePart:
    """Return the part of a source that DELETE names. Raises SqlError 1109."""
    for part in parts:
        schema, alias = part_name(context, part)
        if alias == name.name.lower() and name.schema.lower() in ("", schema):
            return part
    raise sql_error(1109, name.name, "MULTI DELETE")


def _base(part: SourcePart, bases: Sequence[Base], context: StatementContext) -> Base:
    """Return a part of a source in its rows. Raises SqlError 1288 for a table of WITH."""
    for base in bases:
        if (base.schema.lower(), base.alias.lower()) == part_name(context, part):
            return base
    raise sql_error(1288, part_name(context, part)[1], "DELETE")
