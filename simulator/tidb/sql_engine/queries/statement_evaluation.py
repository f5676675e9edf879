"""The evaluation of one statement: the base tables that it reads, the names that it has given, its query in DuckDB.

One law: a table is handed over once for each time that the statement names it, and of it only the columns it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.expressions.sql.evaluate import EvaluationError, as_strings, run_query
from simulator.tidb.expressions.sql.graph import Sql, quote, select_query, sql
from simulator.tidb.expressions.sql.problems import KINDS, collect_problems
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.queries import subqueries
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.state import ROW_ID, Upstream
from simulator.tidb.syntax.queries import Quantified, QueryTree

PROBLEM = "problem"
"""What the columns of the problems of rows are called."""

SEVERAL_ROWS = "More than one row returned by a subquery"
NOT_IN_TRY = "TRY can not be used in combination with a scalar subquery"
OUT_OF_RANGE = "value is out of range in "


class StatementEvaluation:
    """Running numbers, and the rows that the statement reads."""

    def __init__(self, upstream: Upstream, now_ms: int, problems: ExpressionProblems | None = None) -> None:
        """Without `problems` they are met as in a SELECT."""
        self.upstream, self.now_ms = upstream, now_ms
        self._problems = problems or ExpressionProblems(upstream.session)
        self._watched: list[str] = []
        self._last = self._outer_reads = 0
        self._tables: dict[str, dict[str, pa.Array | pa.ChunkedArray]] = {}

    def number(self) -> int:
        self._last += 1
        return self._last

    def scan(self, place: Key, table: Table, number: int) -> None:
        rows = self.upstream.rows.get(place)
        if rows is None:
            texts: Mapping[str, pa.Array] = {column.name: pa.nulls(0, pa.string()) for column in visible_columns(table)}
            self.hand_over(table, number, texts, 0)
            self._tables[f"rows {number}"][f"{number}.{ROW_ID}"] = pa.nulls(0, pa.int64())
            return
        cells = {column.name: rows.cells.column(column.name) for column in visible_columns(table)}
        self.hand_over(table, number, cells, rows.cells.num_rows)
        self._tables[f"rows {number}"][f"{number}.{ROW_ID}"] = rows.row_ids

    def hand_over(self, table: Table, number: int, texts: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> None:
        """Has these rows as `rows NUMBER`; texts of columns that are not given are not there."""
        cells: dict[str, pa.Array | pa.ChunkedArray] = {f"{number}.place": pa.array(np.arange(rows))}
        for place, column in enumerate(table.columns):
            if column.name in texts:
                cells[f"{number}.{place}"] = texts[column.name]
        self._tables[f"rows {number}"] = cells

    def apart(self) -> StatementEvaluation:
        return StatementEvaluation(self.upstream, self.now_ms, self._problems)

    def watched(self) -> list[str]:
        return list(self._watched)

    def watch_again(self, watched: Sequence[str]) -> None:
        self._watched = list(watched)

    def one_row(self) -> str:
        """A source of one row and no column to be named."""
        return f'(SELECT 1 AS "{self.number()}.one")'

    def rows(self, wanted: Mapping[str, Sql], source: str, order: str = "") -> pa.Table:
        """The wanted expressions over a source, once the problems of all that is watched are met. Raises SqlError."""
        watched, self._watched = self._watched, []
        if watched:
            found = self.fetched(" UNION ALL ".join(watched))
            self._problems.meet([(kind, found.column(kind)) for kind in KINDS])
        problems = [problem for root in wanted.values() for problem in collect_problems(root).items()]
        shown = {f"{PROBLEM} {place}": problem for place, (_, problem) in enumerate(problems)}
        found = self.fetched(select_query({**wanted, **shown}, source, f"{self.number()}:") + order)
        if problems:
            self._problems.meet([(kind, found.column(name)) for (kind, _), name in zip(problems, shown, strict=True)])
        return found

    def watch(self, found: Iterable[Sql], source: str) -> None:
        """Has the problems of expressions over a source met that no row of the statement shows: those of a WHERE."""
        for root in found:
            problems = collect_problems(root)
            if problems:
                shown = {kind: problems.get(kind, sql("NULL::VARCHAR")) for kind in KINDS}
                there = " OR ".join(f"{kind} IS NOT NULL" for kind in problems)
                text = select_query(shown, source, f"{self.number()}:")
                self._watched.append(f"(SELECT * FROM ({text}) WHERE {there} LIMIT {MAX_WARNINGS})")

    def read_outside(self) -> None:
        """Notes that a subquery names a column of a query around it."""
        self._outer_reads += 1

    @contextmanager
    def subquery(self) -> Iterator[None]:
        """Around the building of a subquery: what is watched in one that needs the rows around it is left aside."""
        before, reads = len(self._watched), self._outer_reads
        yield
        if self._outer_reads > reads:
            del self._watched[before:]

    def fetched(self, text: str) -> pa.Table:
        """The rows of a query. Raises SqlError."""
        try:
            tables = {
                name: pa.table(
                    {
                        column: cell if pa.types.is_int64(cell.type) else as_strings(column, cell, text)
                        for column, cell in cells.items()
                        if column.endswith(".place") or quote(column) in text
                    }
                )
                for name, cells in self._tables.items()
                if quote(name) in text
            }
            return run_query(text, tables)
        except EvaluationError as error:
            raise _sql_error_of(str(error)) from None

    def one_value(self, query: QueryTree, scope: QueryScope) -> Value:
        return subqueries.scalar_subquery(query, self, scope)

    def one_of(self, values: list[Value], query: QueryTree, scope: QueryScope) -> Sql:
        return subqueries.in_subquery(values, query, self, scope)

    def any_rows(self, query: QueryTree, scope: QueryScope) -> Sql:
        return subqueries.exists_subquery(query, self, scope)

    def quantified(self, value: Value, asked: Quantified, scope: QueryScope) -> Sql:
        return subqueries.quantified_comparison(value, asked, self, scope)


def _sql_error_of(problem: str) -> SqlError:
    """What TiDB says where DuckDB says this."""
    if SEVERAL_ROWS in problem:
        return SqlError(1242, "21000", "Subquery returns more than 1 row")
    if NOT_IN_TRY in problem:
        return not_simulated(
            "arithmetic with a subquery is not computed: the subquery alone, or a variable set by it, is"
        )
    if OUT_OF_RANGE in problem:
        return SqlError(1690, "22003", problem.partition("Error: ")[2])
    return not_simulated(f"the statement is not computed: {problem}")
