"""The rows of INSERT … VALUES: each value is a literal, DEFAULT or an expression (tidb pkg/executor/insert_common.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.scopes.scope import Field, Fields, QueryScope
from simulator.tidb.engine.writes.assign import Cell, RowValues, fixed_defaults, has_default, is_automatic, zero_cell
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.datums import NotLiteral, datum_of, literal_datum
from simulator.tidb.expressions.expression import Evaluate, fixed, null
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.model.table import Cells, Column
from simulator.tidb.syntax.dml import DefaultValue
from simulator.tidb.syntax.expressions import Literal, Node, names_in

PLAIN = ("", "utf8mb4", "utf8")
"""Character sets of string literals that are UTF-8."""

NOWHERE = (0, 0)
"""The location of a row that is not stored yet."""

Load = Callable[[Node, int], Cell]
"""Returns the cell that a value of VALUES is, given the number of its row."""


class ValueRows:
    """Makes rows of the values for some columns of a table."""

    def __init__(self, values: RowValues, columns: Sequence[Column], rows: Sequence[tuple[Node, ...]]) -> None:
        """Raises SqlError 1364 and 3105 for values that are refused before any row is looked at."""
        self._values, self._rows = values, rows
        kinds = set(map(type, chain.from_iterable(rows)))
        if DefaultValue in kinds or not all(rows) or any(column.generated for column in columns):
            self._check_defaults(columns)
        self._evaluated: dict[tuple[str, Node | int], Evaluate] = {}
        self._seen: list[object] = []
        """The row as the expressions of VALUES see it."""

        self._references = kinds != {Literal} and any(
            type(node) is not Literal and names_in(node) for row in rows for node in row
        )

    @cached_property
    def _scope(self) -> QueryScope:
        table = self._values.table
        fields = Fields(map(_without_value, table_fields(table, table.name, table.schema)))
        inserted = Fields(field._replace(read=lambda start: null()) for field in fields)
        return QueryScope(self._values.compilation, fields).changed(inserted=inserted)

    def _check_defaults(self, columns: Sequence[Column]) -> None:
        """Refuse a generated column with a value other than DEFAULT (tidb pkg/planner/core/planbuilder.go,
        ErrBadGeneratedColumn), and DEFAULT of a column without one."""
        for number, column in enumerate(columns):
            if column.generated:
                if any(row and not is_default(row[number], column) for row in self._rows):
                    raise sql_error(3105, column.name, self._values.table.name)
            elif not has_default(column) and not is_automatic(column):
                if any(not row or is_default(row[number]) for row in self._rows):
                    self._values.default(column)()

    def rows(self, named: Sequence[Column]) -> Iterator[Cells]:
        """Yield the rows. Raises SqlError for the first one that does not fit."""
        start, place_of = self._values.start({column.name for column in named}), self._values.place_of
        targets = [
            (number, place_of[column.name], column, self._loader(column))
            for number, column in enumerate(named)
            if not column.generated
        ]
        referenced = self._referenced() if self._references else []
        for number, nodes in enumerate(self._rows, 1):
            cells = [*start]
            if referenced:
                self._seen = [*referenced]
            for position, place, column, load in targets:
                cells[place] = cell = load(nodes[position], number) if nodes else self._values.default(column)()
                if referenced and not (nodes and is_default(nodes[position])):
                    self._seen[place] = cell
            self._values.complete(cells, number)
            yield cells

    def _referenced(self) -> list[object]:
        """Return what names of columns mean before they have values: their defaults, and without a default the zero of the
        type of a NOT NULL column (setValueForRefColumn)."""
        seen: list[object] = [*fixed_defaults(self._values.table), NOWHERE]
        for place, column in enumerate(self._values.columns):
            if is_automatic(column):
                seen[place] = b"0"
            elif column.default is not None and not column.generated:
                seen[place] = self._values.default(column)()
        return seen

    def _loader(self, column: Column) -> Load:
        quick = self._values.quick[column.name]
        integer, string = quick.get("int"), quick.get("string")

        def load(node: Node, number: int) -> Cell:
            if type(node) is Literal:
                cell = None
                if integer is not None and node.kind == "integer":
                    cell = integer(b"%d" % int(node.text))
                elif string is not None and node.kind == "string" and node.charset in PLAIN and node.text.isascii():
                    cell = string(node.text.encode())
                if cell is not None:
                    return cell
            try:
                datum = literal_datum(node)
            except NotLiteral:
                if is_default(node):
                    return self._values.default(column)()
                datum = self._compiled(node, column)(self._seen, self._values.context)
            return self._values.cast(column, datum, number)

        return load

    def _compiled(self, node: Node, column: Column) -> Evaluate:
        """Return an expression for a column. Those that are equal are one."""
        try:
            hash(node)
            key: tuple[str, Node | int] = (column.name, node)
        except RecursionError:  # hash calls itself through C, 500 levels deep in Python 3.12
            key = (column.name, id(node))
        evaluate = self._evaluated.get(key)
        if evaluate is None:
            evaluate = self._evaluated[key] = datum_of(compile_expression(node, self._scope), column)
        return evaluate


def _without_value(field: Field) -> Field:
    """Return a column as the values of a new row see it: a generated one has no value yet."""
    column = field.column
    if column is None or not column.generated:
        return field
    value = column_value(column, fixed(zero_cell(column) if column.not_null else None))
    return field._replace(read=lambda start: value)


def is_default(value: Node, column: Column | None = None) -> bool:
    """Return whether a value is DEFAULT; for a generated column DEFAULT(column) is the same (tidb
    pkg/planner/core/planbuilder.go, checkOnlyDefaultValue)."""
    if not isinstance(value, DefaultValue) or value.column is None:
        return isinstance(value, DefaultValue)
    return column is not None and bool(column.generated) and value.column.parts[-1].lower() == column.name.lower()
