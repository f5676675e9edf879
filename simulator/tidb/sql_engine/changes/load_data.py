"""LOAD DATA LOCAL as the INSERT or REPLACE that stores the rows of its file.

LOCAL without REPLACE means IGNORE. Fields without a column do not count; columns without a field are NULL, and the
current time for a time that is NOT NULL (tidb pkg/executor/load_data.go, parserData2TableData).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from simulator.tidb.expressions.trees import parse_expression, replace_nodes
from simulator.tidb.model.table import Column, visible_columns
from simulator.tidb.sql_engine.changes.delimited_text import Row, rows_of
from simulator.tidb.sql_engine.storage.names import resolve_columns, resolve_table
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import Insert
from simulator.tidb.syntax.expressions import ContextExpression, Literal, Node
from simulator.tidb.syntax.load_data import LoadData
from simulator.tidb.syntax.queries import Variable

NULL = Literal("null")
TIMES = ("date", "datetime", "timestamp")


def as_insert(statement: LoadData, data: bytes, upstream: Upstream) -> Insert:
    """Return the statement that stores the rows of a file. Raises SqlError."""
    table = resolve_table(upstream, statement.table, "insert into")
    targets = statement.targets or tuple(column.name for column in visible_columns(table))
    named = [(place, target) for place, target in enumerate(targets) if not target.startswith("@")]
    columns = resolve_columns(table, [name for _, name in named])
    filled = [(place, column) for (place, _), column in zip(named, columns, strict=True) if not column.generated]
    variables = {target[1:]: place for place, target in enumerate(targets) if target.startswith("@")}
    absent = {column.name: _absent(column) for _, column in filled}
    computed = [assignment.value for assignment in statement.assignments]
    rows = tuple(
        (
            *(_literal(row[place]) if place < len(row) else absent[column.name] for place, column in filled),
            *(replace_nodes(node, _variables_of(row, variables)) for node in computed),
        )
        for row in islice(rows_of(data, statement.format), statement.ignored_lines, None)
    )
    names = (*(column.name for _, column in filled), *(each.column.parts[-1] for each in statement.assignments))
    resolve_columns(table, names)
    return Insert(statement.table, names, rows, ignore=not statement.replace, replace=statement.replace)


def _absent(column: Column) -> Node:
    return parse_expression("CURRENT_TIMESTAMP") if column.not_null and column.type.name in TIMES else NULL


def _literal(field: bytes | None) -> Node:
    if field is None:
        return NULL
    try:
        return Literal("string", field.decode(), "utf8mb4")
    except UnicodeDecodeError:
        return Literal("hex", field.hex())


def _variables_of(row: Row, places: dict[str, int]) -> Callable[[Node], Node | None]:
    """Return what replaces the variables of a row by their values."""

    def value(node: Node) -> Node | None:
        tree = node.tree if isinstance(node, ContextExpression) else None
        if not isinstance(tree, Variable) or tree.scope != "user" or tree.name not in places:
            return None
        place = places[tree.name]
        return _literal(row[place]) if place < len(row) else NULL

    return value
