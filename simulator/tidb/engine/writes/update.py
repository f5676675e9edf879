"""UPDATE and DELETE, and rows that are marked as deleted, of tables with SOFTDELETE.

Every expression of UPDATE sees the rows as they were before the statement, also the columns that the statement
assigns (TiDB's documentation, "MySQL compatibility": UPDATE takes the original values). Rows change one after
another; one that is matched several times changes once. Under two aliases of a table it changes by both, the second
time from what the first made of it (tidb pkg/executor/update.go). DELETE removes each matched row once
(pkg/executor/delete.go).

While tidb_translate_softdelete_sql is on, no statement sees a marked row, and none may name its mark. Source: TiDB's
branch feature/active-active, tests/integrationtest/r/softdelete/*.result, r/active_active/origin_ts.result and
pkg/executor (TestSoftDeleteAffectedRowsAndStmtMessage), for the texts of errors and what counts as affected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.engine.context import StatementContext, now_text, time_zone
from simulator.tidb.engine.names import (
    SourcePart,
    part_name,
    resolve_partitions,
    resolve_table,
    row_id_write_error,
    source_parts,
)
from simulator.tidb.engine.queries import Matched, match, new_compilation
from simulator.tidb.engine.queries.relation import Base, Values
from simulator.tidb.engine.scope import QueryScope
from simulator.tidb.engine.writes.assign import UPDATE, Cell, RowValues
from simulator.tidb.engine.writes.foreign_keys import breaks_key, enforce_foreign_keys
from simulator.tidb.engine.writes.new_rows import is_default
from simulator.tidb.engine.writes.rows import KeyedRow, Location, RowWriter
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.expressions.casts import cast, datum_of
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import TRUNCATED, Context, Expression, apply_in_context
from simulator.tidb.expressions.trees import conjuncts, parse_expression, strip_parentheses
from simulator.tidb.model.table import ROW_ID, SOFT_DELETE_TIME, Cells, Column, Table, visible_columns
from simulator.tidb.model.types import INTEGER_BITS
from simulator.tidb.values.moments import as_utc, parse_stored_moment

IGNORED = (1062, 3819, 1526, 1748)
"""Errors of a row that IGNORE turns to warnings."""


@dataclass(eq=False)
class Target:
    """A table of the source whose rows change."""

    base: Base
    values: RowValues
    writer: RowWriter
    assignments: list[tuple[int, Callable[[Values], Cell]]] = field(default_factory=list)
    """Places of columns in the table's rows, and what a matched row gives them."""

    named: set[str] = field(default_factory=set)
    """The columns that the statement assigns."""

    done: dict[Location, bool] = field(default_factory=dict)
    """The rows that were written, and whether they have changed."""

    merged: dict[Location, Cells] | None = None
    """The rows as they are, of a table under several aliases."""

    @property
    def table(self) -> Table:
        return self.base.stored.table


def update(statement: syntax.Update, context: StatementContext) -> StatementOutcome:
    """Execute UPDATE. Raises SqlError."""
    source, common = statement.source, () if statement.common is None else statement.common.tables
    if isinstance(source, syntax.TableSource) and source.name.name.lower() not in [
        each.name.lower() for each in common
    ]:
        resolve_table(context, source.name, "UPDATE")
    rows = match(statement, new_compilation(context))
    targets = _targets(statement, rows, context)
    places = [(target, target.base.place - len(target.values.columns), target.base.place) for target in targets]
    matched = changed = 0
    for row in rows.rows(context):
        found = []
        for target, first, place in places:
            if row[place] is not None:
                new: Cells = row[first:place]
                for number, compute in target.assignments:
                    new[number] = compute(row)
                found.append((target, row[place], row[first:place], new))
        for target, location, old, new in found:
            if target.done.get(location):
                continue
            if target.merged is not None:
                old, new = _merge(target, target.merged, location, old, new)
            target.values.finish_update(old, new, target.named)
            matched += location not in target.done
            if statement.ignore and new != old and breaks_key(context, target.table, new, target.named):
                target.done[location] = False
                continue
            try:
                target.done[location] = target.writer.update(location, old, new)
            except SqlError as error:
                if not statement.ignore or error.number not in IGNORED:
                    raise
                context.warn(error)
            else:
                changed += target.done[location]
    enforce_foreign_keys(context, [target.writer for target in targets], statement.ignore)
    return _updated(matched, changed, context)


def _updated(matched: int, changed: int, context: StatementContext) -> StatementOutcome:
    message = f"Rows matched: {matched}  Changed: {changed}  Warnings: {len(context.warnings)}"
    affected = matched if context.session.settings.found_rows else changed
    return StatementOutcome(affected=affected, warnings=tuple(context.warnings), message=message)


def _merge(
    target: Target, merged: dict[Location, Cells], location: Location, old: Cells, new: Cells
) -> tuple[Cells, Cells]:
    """Return a row before and after an update by one alias, given what other aliases have made of it."""
    before = merged.get(location, old)
    after = [*before]
    for name in target.named:
        place = target.values.place_of.get(name)
        if place is not None:
            after[place] = new[place]
    merged[location] = after
    return before, after


def _merge_aliases(targets: Sequence[Target]) -> None:
    """Let the aliases of one table share its rows. Raises SqlError 1706 if its key is assigned (tidb
    pkg/planner/core/planbuilder.go, checkUpdateList)."""
    for target in targets:
        others = [other for other in targets if other.base.stored is target.base.stored]
        if len(others) == 1 or target is not others[0]:
            continue
        table, rule = target.table, target.table.partitioning
        keys = {name.lower() for name in (*table.primary_key, *(rule.columns if rule else ()))}
        if rule is not None and rule.expression:
            keys |= {node.parts[-1].lower() for node in syntax.names_in(parse_expression(rule.expression))}
        for other in others[1:]:
            if any(name.lower() in keys for each in (target, other) for name in each.named):
                raise sql_error_with_text(
                    1706,
                    "Primary key/partition key update is not allowed since the table is updated both as "
                    f"'{target.base.alias}' and '{other.base.alias}'.",
                )
        merged: dict[Location, Cells] = {}
        for other in others:
            other.merged = merged


# -- assignments -------------------------------------------------------------------------------------------------------


def _targets(statement: syntax.Update, matched: Matched, context: StatementContext) -> list[Target]:
    """Return the tables that change, in the order of the statement, or of the source if one of them is
    there under several aliases. Raises SqlError 1054, 1052, 1288 for a column of a query,
    3105 for a generated column."""
    targets: dict[Base, Target] = {}
    partitions = {
        part_name(part, context.session.settings.database): part.partitions
        for part in source_parts(statement.source)
        if isinstance(part, syntax.TableSource) and part.partitions
    }
    casts = isinstance(statement.source, syntax.TableSource) and is_point_update(statement, matched.bases)
    for each in statement.assignments:
        base, column = _assigned_column(each.column, matched)
        target = targets.get(base)
        if target is None:
            named = partitions.get((base.schema.lower(), base.alias.lower()))
            writer = RowWriter(base.stored, context, resolve_partitions(base.stored.table, named) if named else None)
            target = targets[base] = Target(base, RowValues(base.stored.table, context, UPDATE), writer)
        target.named.add(column.name)
        check_updated((column,), target.table)
        if not column.generated:
            compute = _compiled(each.value, column, target.values, matched.scope, casts)
            target.assignments.append((target.values.place_of[column.name], compute))
        elif not is_default(each.value, column):
            raise sql_error(3105, column.name, target.table.name)
    found = list(targets.values())
    _merge_aliases(found)
    if any(target.merged is not None for target in found):
        found.sort(key=lambda target: target.base.place)
    return found


def _compiled(
    node: syntax.Node, column: Column, values: RowValues, scope: QueryScope, casts: bool
) -> Callable[[Values], Cell]:
    if is_default(node):
        default = values.default(column)
        return lambda row: default()
    value = compile_expression(node, scope)
    evaluate, context = datum_of(point_cast(value, column) if casts else value, column), values.context
    return lambda row: values.cast(column, evaluate(row, context))


def _assigned_column(node: syntax.ColumnName, matched: Matched) -> tuple[Base, Column]:
    found = matched.scope.find(node)
    if found is None:
        raise sql_error(1054, ".".join(node.parts), "field list")
    if found.name == ROW_ID:
        raise row_id_write_error()
    for base in matched.bases:
        if base.stored.table is found.base and base.alias == found.table and base.schema == found.schema:
            assert found.column is not None, "it is the column of a table"
            return base, found.column
    raise sql_error(1288, found.table, "UPDATE")


# -- updates by a key -----------------------------------------------------------------------------------------------------


def is_point_update(statement: syntax.Update, bases: Sequence[Base]) -> bool:
    """Return whether TiDB updates rows by a primary or unique key without its optimizer.

    It casts the values of all assignments by CAST before it casts them to the columns: '1.5' is no integer, and what is no
    time is NULL without strict mode, not zero (tidb pkg/planner/core/point_get_plan.go, tryUpdatePointPlan,
    buildOrderedList).
    """
    if len(bases) != 1 or statement.where is None:
        return False
    table = bases[0].stored.table
    if any(column.generated for column in table.columns):
        return False
    if any(
        isinstance(part, syntax.ContextExpression) for each in statement.assignments for part in syntax.walk(each.value)
    ):
        return False
    keys = [table.primary_key]
    for index in table.indexes:
        if index.unique and all(part.length < 0 for part in index.columns):
            keys.append(tuple(part.name for part in index.columns))
    names = sorted(_compared_column(node) for node in conjuncts(statement.where))
    return names in [sorted(name.lower() for name in key) for key in keys if key]


def _compared_column(node: syntax.Node) -> str:
    """Return the column that a condition compares with literals; empty for any other condition."""
    node = strip_parentheses(node)
    if isinstance(node, syntax.Binary) and node.operator == "=":
        sides = strip_parentheses(node.left), strip_parentheses(node.right)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, syntax.ColumnName) and isinstance(other, syntax.Literal):
                return side.parts[-1].lower()
    if isinstance(node, syntax.In) and not node.negated and isinstance(node.operand, syntax.ColumnName):
        if all(isinstance(each, syntax.Literal) for each in node.candidates):
            return node.operand.parts[-1].lower()
    return ""


def point_cast(value: Expression, column: Column) -> Expression:
    """Return a value as CAST makes it for a column."""
    type, digits = column.type, max(column.type.decimal, 0)
    if type.name in INTEGER_BITS:
        return cast(value, "UNSIGNED" if type.unsigned else "SIGNED")
    if type.name == "decimal":
        return cast(value, f"DECIMAL({type.length}, {digits})")
    if type.name in ("float", "double"):
        return value if value.kind == "real" else cast(value, "DOUBLE")
    if type.name in ("date", "json"):
        return cast(value, type.name.upper())
    if type.name in ("datetime", "time"):
        return cast(value, f"{type.name.upper()}({digits})")
    if type.name == "timestamp":
        moment = cast(value, f"DATETIME({digits})")
        return structs.replace(moment, evaluate=apply_in_context(_in_range, moment.evaluate))
    return value


def _in_range(context: Context, moment: str) -> str | None:
    """Return a moment that a TIMESTAMP can be; any other is NULL, with a problem."""
    stored = parse_stored_moment(moment)
    if stored.is_zero() or as_utc(stored, time_zone(context.zone)) is not None:
        return moment
    shown = " ".join(map(str, stored[:7]))
    context.problem(TRUNCATED, f"1292 Incorrect time value: '{{{shown}}}'")
    return None


def delete(statement: syntax.Delete, context: StatementContext) -> StatementOutcome:
    """Execute DELETE. Raises SqlError."""
    parts, database = source_parts(statement.source), context.session.settings.database
    targets = [_target(name, parts, database) for name in statement.targets] or parts[:1]
    common = () if statement.common is None else tuple(each.name.lower() for each in statement.common.tables)
    for target in targets:
        if isinstance(target, syntax.DerivedTable):
            raise sql_error(1288, target.alias, "DELETE")
        if target.name.schema or target.name.name.lower() not in common:
            resolve_table(context, target.name, "delete")
    if statement.partitions and isinstance(statement.source, syntax.TableSource):
        source = structs.replace(statement.source, partitions=statement.partitions)
        statement = structs.replace(statement, source=source)
    rows = match(statement, new_compilation(context))
    bases = [_base(part_name(target, database), rows.bases) for target in targets]
    writers = {base.stored: RowWriter(base.stored, context) for base in bases}
    marks = marks_instead(bases, context)
    write = {stored: marking(writer, context) if marks else writer.delete for stored, writer in writers.items()}
    found: set[tuple[object, Location]] = set()
    deleted = 0
    for row in rows.rows(context):
        for base in bases:
            location = row[base.place]
            if location is None or (base.stored, location) in found:
                continue
            found.add((base.stored, location))
            cells = row[base.place - len(visible_columns(base.stored.table)) : base.place]
            if not (statement.ignore and breaks_key(context, base.stored.table, cells)):
                write[base.stored](location, cells)
                deleted += 1
    enforce_foreign_keys(context, list(writers.values()), statement.ignore)
    return StatementOutcome(affected=deleted, warnings=tuple(context.warnings))


def _target(name: syntax.TableName, parts: Sequence[SourcePart], database: str) -> SourcePart:
    """Return the part of a source that DELETE names. Raises SqlError 1109."""
    for part in parts:
        schema, alias = part_name(part, database)
        if alias == name.name.lower() and name.schema.lower() in ("", schema):
            return part
    raise sql_error(1109, name.name, "MULTI DELETE")


def _base(named: tuple[str, str], bases: Sequence[Base]) -> Base:
    """Return the table of rows that a schema and a name mean. Raises SqlError 1288 for a table of WITH."""
    for base in bases:
        if (base.schema.lower(), base.alias.lower()) == named:
            return base
    raise sql_error(1288, named[1], "DELETE")


UNSUPPORTED = "This version of TiDB doesn't yet support '{}'"


def check_updated(columns: Sequence[Column], table: Table) -> None:
    """Raise SqlError 1235 for an assignment to the primary key of a table with SOFTDELETE."""
    if table.soft_delete and any(column.name in table.primary_key for column in columns):
        raise sql_error_with_text(1235, UNSUPPORTED.format("updating primary key column on soft-delete table"))


def marks_instead(bases: Sequence[Base], context: StatementContext) -> bool:
    """Return whether a DELETE only marks the rows of its tables. Raises SqlError 1105 for tables of both kinds."""
    marked = [base for base in bases if base.stored.table.soft_delete and context.session.settings.soft_deletes]
    if marked and len(marked) < len(bases):
        raise sql_error_with_text(1105, "cannot mix soft delete and non-soft delete tables in DELETE statement")
    return bool(marked)


def marking(writer: RowWriter, context: StatementContext, deletes: bool = True) -> Callable[[Location, Cells], bool]:
    """Return a function that marks a row as deleted, or takes its mark away, and returns whether it changes."""
    values = RowValues(writer.table, context, UPDATE)
    place = values.place_of[SOFT_DELETE_TIME]
    now = now_text("timestamp", 6, context.session.settings, context.now_ms).encode()

    def write(location: Location, old: Cells) -> bool:
        new = [*old]
        new[place] = now if deletes else None
        values.finish_update(old, new, (SOFT_DELETE_TIME,))
        return writer.update(location, old, new)

    return write


def recover_values(statement: syntax.RecoverValues, context: StatementContext) -> StatementOutcome:
    """Execute RECOVER VALUES. Raises SqlError."""
    table = resolve_table(context, statement.source.name, "UPDATE")
    if not context.database.release.soft_deletes:
        raise sql_error_with_text(1064, "there is no RECOVER VALUES in this release")
    if table.soft_delete is None:
        raise sql_error_with_text(1235, UNSUPPORTED.format("RECOVER VALUES on table without soft delete enabled"))
    if statement.where and any(isinstance(part, syntax.ContextExpression) for part in syntax.walk(statement.where)):
        raise not_simulated("RECOVER VALUES with a subquery is not computed, whose tables hide their marked rows")
    context.sees_marked = True
    rows = match(syntax.Delete(statement.source, where=statement.where), new_compilation(context))
    (base,) = rows.bases
    writer = RowWriter(base.stored, context)
    write = marking(writer, context, deletes=False)
    matched = changed = 0
    for row in rows.rows(context):
        location: Location = row[base.place]
        matched += 1
        changed += write(location, row[: base.place])
    return _updated(matched, changed, context)


def remove_marked(writer: RowWriter, row: KeyedRow) -> None:
    """Delete the marked rows that have a key of a new row (ReplaceConflictIfExpr)."""
    if writer.mark is None:
        return
    for _, owner in [*writer.owners(row)]:
        old = writer.cells(owner)
        if old is not None and old[writer.mark] is not None:
            writer.delete(owner, old)
