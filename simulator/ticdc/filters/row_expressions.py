"""Event filters with SQL expressions on the values of rows.

Values are TiDB texts. A row is ignored if the result, as a whole number, is 1; NULL, 2 and '1' ignore nothing. An
UPDATE is one change here: TiCDC filters before it splits. Errors have TiCDC's texts. Sources: tiflow v8.5.7
pkg/filter/expr_filter.go, pkg/errors/cdc_errors.go; ticdc v8.5.4, the same.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import Texts
from simulator.errors import ChangefeedError, SchemaError, SqlError
from simulator.ticdc.filters.event_filters import ROW_KINDS, EventFilters, EventRule, reads_values, rule_ignoring_row
from simulator.ticdc.mounter import images_in_zone, without_marks
from simulator.tidb.expressions import trees
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Context, Evaluate, Expression, fixed
from simulator.tidb.expressions.over_columns import TableScope, needed_columns, over_columns
from simulator.tidb.expressions.trees import FUNCTIONS, TIDB_ONLY_FUNCTIONS, uncomputable_part
from simulator.tidb.model.table import Table, columns_by_name, visible_columns
from simulator.tidb.syntax.expressions import Call, ColumnName, ContextExpression, Node, RowExpression, walk
from simulator.tidb.syntax.queries import DefaultValue, InsertedValue


def passing_rows(
    changes: pa.RecordBatch, table: Table, filters: EventFilters, ignored_start_ts: Collection[int] = ()
) -> pa.BooleanArray:
    """Return which changes of a table are sent, without nulls.

    It reads the columns `before` and `after` (binary row images, null for none), and `commit_ts` for ignored
    transactions. Raise ChangefeedError for an expression that does not suit the table, if there is a change of its
    kind: CDC:ErrInvalidFilterExpression, CDC:ErrExpressionColumnNotFound.
    """
    is_sent = pa.repeat(pa.scalar(True), changes.num_rows)
    if ignored_start_ts:
        stamps = pa.array([ts + tso.BEFORE_COMMIT for ts in ignored_start_ts], changes.column("commit_ts").type)
        is_sent = pc.and_(is_sent, pc.invert(pc.is_in(changes.column("commit_ts"), stamps)))
    for kind, of_kind in _kinds(changes.column("before"), changes.column("after")).items():
        is_sent = pc.and_(is_sent, pc.invert(_ignored(filters, table, kind, of_kind, changes)))
    return is_sent


def _kinds(before: pa.Array, after: pa.Array) -> dict[str, pa.BooleanArray]:
    had, has = pc.is_valid(before), pc.is_valid(after)
    both = {"delete": pc.and_not(had, has), "update": pc.and_(had, has), "insert": pc.and_not(has, had)}
    return {kind: both[kind] for kind in ROW_KINDS}


def _ignored(
    filters: EventFilters, table: Table, kind: str, of_kind: pa.BooleanArray, changes: pa.RecordBatch
) -> pa.BooleanArray:
    """Return which changes of a kind the rules ignore."""
    if rule_ignoring_row(filters, table.schema, table.name, kind):
        return of_kind
    rules = [rule for rule in filters.rules if rule.row_matcher.match(table.schema, table.name)]
    expressions = [pair for rule in rules for pair in _expressions(rule, kind)]
    nothing = pa.repeat(pa.scalar(False), len(of_kind))
    if not expressions or not pc.any(of_kind).as_py():
        return nothing
    for expression, _ in expressions:
        check_expression(expression, table)
    sides = {
        side: _texts(without_marks(changes.column(side).filter(of_kind), filters.release), table, filters.time_zone)
        for side in {side for _, side in expressions}
    }
    ignored = functools.reduce(
        pc.or_, [is_ignored(expression, table, sides[side], filters.time_zone) for expression, side in expressions]
    )
    return pc.replace_with_mask(nothing, of_kind, ignored)


def _expressions(rule: EventRule, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the expressions for a kind of change, each with the side whose values it reads.

    An UPDATE is ignored by its old row or by its new one.
    """
    setting = rule.setting
    every = {
        "insert": ((setting.ignore_insert_value_expr, "after"),),
        "delete": ((setting.ignore_delete_value_expr, "before"),),
        "update": ((setting.ignore_update_old_value_expr, "before"), (setting.ignore_update_new_value_expr, "after")),
    }
    yield from ((text, side) for text, side in every[kind] if text)


def _texts(rows: pa.Array, table: Table, zone: str) -> Texts:
    return row_image.named(images_in_zone(rows, table, zone), [column.name for column in visible_columns(table)])


def rule_ignoring_values(
    filters: EventFilters, table: Table, before: bytes | None, after: bytes | None
) -> EventRule | None:
    """Return the rule that ignores one change, given as row images, by its values; raise as `passing_rows` does."""
    change = pa.record_batch({"before": pa.array([before], pa.binary()), "after": pa.array([after], pa.binary())})
    for rule in filters.rules:
        alone = replace(filters, rules=(replace(rule, types=frozenset()),))
        if reads_values(rule, table) and not passing_rows(change, table, alone)[0].as_py():
            return rule
    return None


def is_ignored(expression: str, table: Table, texts: Mapping[str, pa.Array], zone: str = "") -> pa.BooleanArray:
    """Return whether the expression ignores each row, without nulls.

    `texts` are the TiDB texts of the rows' columns by name, null for NULL, in the zone, which is UTC if it is empty;
    virtual generated columns are computed. The
    expression must be checked before. Raise ChangefeedError if a value fails, such as a bad regular expression.
    """
    rows = len(next(iter(texts.values())))
    context, needed = Context(zone=zone or "UTC"), needed_columns(table, [expression])
    try:
        ignores = _condition(expression, table)
        return pa.array(over_columns(table, lambda row: ignores(row, context) is True, needed, texts, rows), pa.bool_())
    except SqlError as error:
        raise ChangefeedError(f"event filter {expression!r}: {error.text}", "CDC:ErrInvalidFilterExpression") from None


@functools.lru_cache(256)
def _condition(expression: str, table: Table) -> Evaluate:
    return _is_one(compile_expression(trees.parse_expression(expression), TableScope(table)))


def _is_one(value: Expression) -> Evaluate:
    """Return whether TiCDC reads a 1 in the result; False or NULL for nothing else."""
    evaluate = value.evaluate
    if value.kind == "bool":
        return evaluate
    if value.kind == "json":
        return lambda row, context: (evaluate(row, context) or "").startswith("{")
    if value.number is not None and value.collation != "binary":
        evaluate = value.number
    elif value.kind not in ("int", "uint") or not value.integral:
        return fixed(False)
    return lambda row, context: evaluate(row, context) == 1


def check_expressions(filters: EventFilters, tables: Sequence[Table]) -> None:
    """Check every expression against every table that it applies to, as TiCDC does when a changefeed is created.

    Their syntax is also checked by the changefeed's `sql-mode`, in releases that have one, though rows are filtered
    without it. Some releases check nothing then. Raise ChangefeedError as `check_expression` does.
    """
    if not filters.release.checks_expressions_first:
        return
    for rule in filters.rules:
        for expression in rule.setting.expressions:
            _tree(expression, filters.sql_mode)
        for table in tables:
            if reads_values(rule, table):
                for expression in rule.setting.expressions:
                    check_expression(expression, table)


@functools.lru_cache(256)
def check_expression(expression: str, table: Table) -> None:
    """Raise ChangefeedError for an expression that TiCDC or the simulator does not accept for a table.

    CDC:ErrInvalidFilterExpression for syntax, functions and constructs that need more than one row,
    CDC:ErrExpressionColumnNotFound for columns; without a code for what only TiDB computes.
    """
    for node in walk(_tree(expression)):
        if isinstance(node, ColumnName):
            _check_column(node, table, expression)
        if isinstance(node, (ContextExpression, RowExpression, DefaultValue, InsertedValue)) and not _is_variable(node):
            raise _invalid(expression, f"{uncomputable_part(node)} has no place in it")
        if isinstance(node, Call) and (node.schema or node.name not in TIDB_ONLY_FUNCTIONS):
            _check_call(node, expression)
        problem = uncomputable_part(node)
        if problem:
            raise ChangefeedError(f"event filter {expression!r}: {problem} cannot be computed outside TiDB")


def _is_variable(node: Node) -> bool:
    return isinstance(node, ContextExpression) and node.kind == "a variable"


def _invalid(expression: str, why: str) -> ChangefeedError:
    text = f"invalid filter expressions. There is a syntax error in: '{expression}': {why}"
    return ChangefeedError(text, "CDC:ErrInvalidFilterExpression")


def _tree(expression: str, sql_mode: frozenset[str] = frozenset()) -> Node:
    try:
        return trees.parse_expression(expression, sql_mode)
    except SchemaError as error:
        raise _invalid(expression, str(error)) from None


def _check_column(node: ColumnName, table: Table, expression: str) -> None:
    # TiDB gives the table no schema here, so that a name with one has no column
    named = [part.lower() for part in node.parts[:-1]] in ([], [table.name.lower()])
    column = columns_by_name(table).get(node.parts[-1].lower()) if named else None
    if column is None:
        raise ChangefeedError(
            f"invalid filter expression(s). Cannot find column '{'.'.join(node.parts).lower()}' from table "
            f"'{table.schema}.{table.name}' in: {expression}",
            "CDC:ErrExpressionColumnNotFound",
        )
    if column.generated == "virtual":
        try:
            trees.definition_tree(column.generated_expression, table)
        except SchemaError as error:
            raise ChangefeedError(f"event filter {expression!r}: column {column.name!r}: {error}") from None


def _check_call(node: Call, expression: str) -> None:
    function = FUNCTIONS.get(node.name)
    if node.schema or function is None:
        raise _invalid(expression, f"FUNCTION {node.name.lower()} does not exist")
    if not function.takes(len(node.arguments)):
        raise _invalid(expression, f"Incorrect parameter count in the call to native function '{node.name}'")
