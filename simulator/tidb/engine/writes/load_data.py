"""Rows that are in no statement: those of a file (LOAD DATA LOCAL), and columns of values.

LOCAL without REPLACE means IGNORE: values that do not fit, NULLs and rows with too few or too many fields are
warnings. With REPLACE they are errors in strict mode. Columns without a field are NULL, and the current time for a
time that is NOT NULL (tidb pkg/executor/load_data.go, parserData2TableData; pkg/lightning/mydump/csv_parser.go).

Columns of values are inserted, updated and deleted with all of TiDB's constraints. A row that TiDB refuses raises its
SqlError; the caller undoes what was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import pyarrow as pa

from simulator.columns.cells import escaped
from simulator.tidb.datums import Datum
from simulator.tidb.datums.cast import cast_column
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.engine.context import StatementContext, now_text
from simulator.tidb.engine.names import resolve_columns, resolve_table
from simulator.tidb.engine.scope import Known, QueryScope
from simulator.tidb.engine.writes.assign import LOAD, UPDATE, VALUES, Cell, RowValues, cast_error
from simulator.tidb.engine.writes.foreign_keys import enforce_foreign_keys
from simulator.tidb.engine.writes.insert import Insertion
from simulator.tidb.engine.writes.new_rows import AutoIds
from simulator.tidb.engine.writes.rows import Location, RowWriter
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.casts import datum_of
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Expression, place
from simulator.tidb.expressions.trees import replace_nodes
from simulator.tidb.model.table import Cells, Column, Table, columns_by_name, shown_columns
from simulator.tidb.syntax.expressions import ContextExpression, Node
from simulator.tidb.syntax.queries import Insert, Variable
from simulator.tidb.syntax.statements import DelimitedText, LoadData, LoadFile

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


ESCAPED = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}

CODECS = {"gbk": "gbk", "gb18030": "gb18030", "latin1": "cp1252"}
"""Python's codecs for character sets that are decoded, field by field (pkg/lightning/mydump/charset_convertor.go)."""

Row = list[bytes | None]


def rows_of(data: bytes, form: DelimitedText, charset: str = "") -> Iterator[Row]:
    """Yield the fields of each row in UTF-8; None is NULL. `charset` is that of the file if it is another one."""
    separator, terminator = form.separator.encode(), form.terminator.encode()
    codec = CODECS.get(charset)
    escapes = form.escape and form.escape.encode() in data
    if form.quote or form.starting or form.null is not None or escapes or codec:
        yield from _parsed_rows(data, form, codec)
        return
    lines = data.split(terminator)
    if not lines[-1]:
        lines.pop()
    for line in lines:
        yield [*line.split(separator)]


def _parsed_rows(data: bytes, form: DelimitedText, codec: str | None) -> Iterator[Row]:
    field = _field_pattern(form)
    starting, terminator = form.starting.encode(), form.terminator.encode()
    place = _row_start(data, 0, starting, terminator)
    row: Row = []
    value = FieldValues(form)
    while place >= 0:
        match = field.match(data, place)
        assert match is not None, "it matches everything"
        quoted, plain, end = match.groups()
        text = plain if quoted is None else quoted
        if codec is not None:
            text = text.decode(codec, "replace").encode()
        row.append(value(text, quoted is not None))
        place = match.end()
        if end != form.separator.encode():
            yield row
            row, place = [], _row_start(data, place, starting, terminator)


def _row_start(data: bytes, place: int, starting: bytes, terminator: bytes) -> int:
    """Return where the next row begins, behind LINES STARTING BY; -1 if there is none."""
    if not starting:
        return place if place < len(data) else -1
    while (found := data.find(starting, place)) >= 0:
        end = data.find(terminator, place)
        if end < 0 or found < end:
            return found + len(starting)
        place = end + len(terminator)
    return -1


def _field_pattern(form: DelimitedText) -> re.Pattern[bytes]:
    """Return the pattern of a field in quotes or a plain one, and what ends it."""
    separator, terminator, quote, escape = (
        re.escape(part.encode()) for part in (form.separator, form.terminator, form.quote, form.escape)
    )
    ends = rb"(?:" + separator + rb"|" + terminator + rb"|\Z)"
    escaped = escape + rb".|" if escape else b""
    plain = rb"((?:" + escaped + rb"(?!" + ends + rb").)*)"
    quoted = rb"(?!)()"
    if quote:
        inner = rb"(?:" + escaped + quote * 2 + rb"|(?!" + quote + rb").|" + quote + rb"(?!" + ends + rb"))*+"
        quoted = quote + rb"(" + inner + rb")" + quote + rb"(?=" + ends + rb")"
    return re.compile(rb"(?:" + quoted + rb"|" + plain + rb")(" + separator + rb"|" + terminator + rb"|\Z)", re.DOTALL)


class FieldValues:
    """Returns the values of fields: NULL, or the text without its escapes."""

    def __init__(self, form: DelimitedText) -> None:
        quote, escape = form.quote.encode(), form.escape.encode()
        self._defined = None if form.null is None else form.null.encode()
        self._quoted_null = form.quoted_null
        self._nulls = {self._defined, b"NULL" if quote else None, escape + b"N" if escape else None} - {None}
        patterns = [re.escape(escape) + rb"(.)"] if escape else []
        patterns += [re.escape(quote * 2)] if quote else []
        self._special = re.compile(rb"|".join(patterns), re.DOTALL) if patterns else None
        self._has_escape, self._quote = bool(escape), quote

    def __call__(self, text: bytes, quoted: bool) -> bytes | None:
        if text in self._nulls and (not quoted or self._quoted_null and text == self._defined):
            return None
        if self._special is None or not quoted and not self._has_escape:
            return text
        return self._special.sub(lambda match: self._unescaped(match, quoted), text)

    def _unescaped(self, match: re.Match[bytes], quoted: bool) -> bytes:
        letter = match[1] if self._has_escape else None
        if letter is None:
            return self._quote if quoted else match[0]
        return ESCAPED.get(letter, letter)


Inputs = Mapping[str, pa.Array]
"""The values of columns by their names: text, bytes as a file has them (a BIT's are tagged), or integers."""


def insert_rows(context: StatementContext, table: Table, inputs: Inputs, rows: int) -> None:
    """Insert new rows in their order. Raises SqlError."""
    values = RowValues(table, context, VALUES, rows)
    stored = context.stored(table)
    ids, writer = AutoIds(stored, context), RowWriter(stored, context)
    start = values.start(inputs.keys())
    found: list[Cells] = [[*start] for _ in range(rows)]
    _fill(found, inputs, values)
    for number, cells in enumerate(found, 1):
        values.complete(cells, number)
    if ids.column is not None:
        ids.fill(found)
    writer.expect(rows)
    for number, cells in enumerate(found, 1):
        writer.insert(writer.keyed(cells, number))
    enforce_foreign_keys(context, [writer])


def update_rows(context: StatementContext, table: Table, locations: Sequence[Location], inputs: Inputs) -> None:
    """Update the rows at some locations, each once. Unchanged rows are not written. Raises SqlError."""
    writer = RowWriter(context.stored(table), context)
    old = [writer.cells(location) or [] for location in locations]
    for location, before, after in zip(locations, old, changed_rows(context, table, old, inputs), strict=True):
        writer.update(location, before, after)
    enforce_foreign_keys(context, [writer])


def changed_rows(context: StatementContext, table: Table, rows: Sequence[Cells], inputs: Inputs) -> Iterator[Cells]:
    """Yield rows after an UPDATE of some columns, without writing them. Raises SqlError."""
    values = RowValues(table, context, UPDATE)
    found: list[Cells] = [[*cells] for cells in rows]
    _fill(found, inputs, values)
    for before, after in zip(rows, found, strict=True):
        values.finish_update(before, after, inputs.keys())
        yield after


def delete_rows(context: StatementContext, table: Table, locations: Sequence[Location]) -> None:
    """Delete the rows at some locations. Raises SqlError."""
    writer = RowWriter(context.stored(table), context)
    for location in locations:
        cells = writer.cells(location)
        assert cells is not None, "the row is there"
        writer.delete(location, cells)
    enforce_foreign_keys(context, [writer])


def _fill(rows: Sequence[Cells], inputs: Inputs, values: RowValues) -> None:
    """Put the cells of columns into rows. Raises SqlError for the first row with a value that does not fit."""
    columns = [columns_by_name(values.table)[name.lower()] for name in inputs]
    wrong = []
    for column, given in zip(columns, inputs.values(), strict=True):
        cast = cast_column(column, given, values.mode)
        for misfit in cast.misfits:
            number = 1 if values.origin == UPDATE else misfit.row + 1
            error = cast_error(column, misfit.datum, misfit.problem, number, values.origin)
            if values.mode.forgives(misfit.problem):
                values.context.warn(error)
            else:
                wrong.append((misfit.row, error))
        place = values.place_of[column.name]
        cells: list[Cell] = cast.texts.to_pylist()
        for row, cell in zip(rows, cells, strict=True):
            row[place] = cell
    if wrong:
        raise min(wrong, key=lambda each: each[0])[1]
