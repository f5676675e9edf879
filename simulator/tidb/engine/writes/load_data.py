"""LOAD DATA LOCAL: the rows of a file, which its client sends.

LOCAL without REPLACE means IGNORE: values that do not fit, NULLs and rows with too few or too many fields are warnings. With
REPLACE they are errors in strict mode. Columns without a field are NULL, and the current time for a time that is NOT NULL
(tidb pkg/executor/load_data.go, parserData2TableData).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from simulator.columns.cells import escaped
from simulator.tidb.datums.kinds import Datum
from simulator.tidb.engine.scopes.names import resolve_columns, resolve_table
from simulator.tidb.engine.scopes.scope import Known, QueryScope
from simulator.tidb.engine.sessions.clock import now_text
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.outcome import StatementOutcome
from simulator.tidb.engine.writes.assign import LOAD, Cell, RowValues
from simulator.tidb.engine.writes.delimited_text import Row, rows_of
from simulator.tidb.engine.writes.insert import Insertion
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.datums import datum_of
from simulator.tidb.expressions.expression import Expression, place
from simulator.tidb.expressions.trees import replace_nodes
from simulator.tidb.model.table import Cells, Column, Table, shown_columns
from simulator.tidb.syntax.dml import Insert
from simulator.tidb.syntax.expressions import ContextExpression, Node
from simulator.tidb.syntax.queries import Variable
from simulator.tidb.syntax.session import LoadData, LoadFile

TIMES = ("date", "datetime", "timestamp")


def load_data(file: LoadFile, context: StatementContext) -> StatementOutcome:
    """Execute LOAD DATA. Raises SqlError."""
    statement, data = file.statement, file.data
    table = resolve_table(context, statement.table, "insert into")
    loaded = LoadedRows(statement, data, table, context)
    insert = Insert(statement.table, None, (), ignore=not statement.replace, replace=statement.replace)
    return Insertion(insert, table, context).load(loaded.rows())


def check_load(statement: LoadData, context: StatementContext) -> None:
    """Raise SqlError for a statement whose names mean nothing."""
    LoadedRows(statement, b"", resolve_table(context, statement.table, "insert into"), context)


class LoadedRows:
    """Makes rows of the fields of a file."""

    def __init__(self, statement: LoadData, data: bytes, table: Table, context: StatementContext) -> None:
        """Raises SqlError for names that mean nothing."""
        self._statement, self._data, self._context = statement, data, context
        self._values = RowValues(table, context, LOAD)
        targets = statement.targets or tuple(
            column.name for column in shown_columns(table) if column.generated != "virtual"
        )
        self._count = len(targets)
        fields = [(number, target) for number, target in enumerate(targets) if not target.startswith("@")]
        assigned = [each.column.parts[-1] for each in statement.assignments]
        context.check_named(*(target for _, target in fields), *assigned)
        columns = resolve_columns(table, [*(target for _, target in fields), *assigned])
        self._named = {column.name for column in columns}
        self._fields = [
            (number, column)
            for (number, _), column in zip(fields, columns[: len(fields)], strict=True)
            if not column.generated
        ]
        variables = {target[1:]: number for number, target in enumerate(targets) if target.startswith("@")}
        self._assignments = [
            (column, self._compiled(each.value, column, variables))
            for each, column in zip(statement.assignments, columns[len(fields) :], strict=True)
        ]

    def _compiled(
        self, node: Node, column: Column, variables: dict[str, int]
    ) -> Callable[[Sequence[str | None]], object]:
        """Return a value of SET, given the fields of a row as text."""
        if column.generated:
            raise sql_error(3105, column.name, self._values.table.name)

        def known(part: Node) -> Node | None:
            tree = part.tree if isinstance(part, ContextExpression) else None
            if not isinstance(tree, Variable) or tree.scope != "user" or tree.name not in variables:
                return None
            compilation.varying += 1
            return Known(Expression(place(variables[tree.name]), "string"))

        compilation = self._values.compilation
        evaluate = datum_of(compile_expression(replace_nodes(node, known), QueryScope(compilation)), column)
        return lambda texts: evaluate(texts, self._context)

    def rows(self) -> Iterator[Cells]:
        """Yield the rows. Raises SqlError for the first one that does not fit, if that is an error."""
        start, statement = self._values.start(self._named), self._statement
        lines = rows_of(self._data, statement.format, statement.charset)
        for number, fields in enumerate(islice(lines, statement.ignored_lines, None), 1):
            self._check_count(len(fields), number)
            cells = [*start]
            for position, column in self._fields:
                cells[self._values.place_of[column.name]] = self._cell(fields, position, column, number)
            if self._assignments:
                texts = [None if field is None else field.decode("utf-8", "surrogateescape") for field in fields]
                texts += [None] * (self._count - len(texts))
                for column, compute in self._assignments:
                    datum = compute(texts)
                    assert datum is None or isinstance(datum, Datum)
                    cells[self._values.place_of[column.name]] = self._values.cast(column, datum, number)
            self._values.complete(cells, number)
            yield cells

    def _check_count(self, fields: int, number: int) -> None:
        if fields == self._count:
            return
        text = f"Row {number} was truncated; it contained more data than there were input columns"
        if fields < self._count:
            text = f"Row {number} doesn't contain data for all columns"
        error = sql_error_with_text(1261 if fields < self._count else 1262, text)
        if not self._context.mode.lenient:
            raise error
        self._context.warn(error)

    def _cell(self, fields: Row, position: int, column: Column, number: int) -> Cell:
        if position < len(fields):
            field = fields[position]
            datum = None if field is None else Datum("string", field if field.isascii() else escaped(field))
            return self._values.cast(column, datum, number)
        if not column.not_null or column.type.name not in TIMES:
            return None
        settings, digits = self._context.session.settings, max(column.type.decimal, 0)
        return now_text(column.type.name, digits, settings, self._context.now_ms).encode()
