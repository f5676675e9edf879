"""The evaluation of one statement in DuckDB: the tables that it reads, names for its columns, its queries.

A table is added once for each mention in the statement, with the columns that are used.
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
"""The name of the columns that hold the problems of rows."""

SEVERAL_ROWS = "More than one row returned by a subquery"
NOT_IN_TRY = "TRY can not be used in combination with a scalar subquery"
OUT_OF_RANGE = "value is out of range in "


class StatementEvaluation:
    """Implements `scopes.Evaluation`."""

    def __init__(self, upstream: Upstream, now_ms: int, problems: ExpressionProblems | None = None) -> None:
        """Without `problems` they are handled as in a SELECT."""
        self.upstream, self.now_ms = upstream, now_ms
        self._problems = problems or ExpressionProblems(upstream.session)
        self._watched: list[str] = []
        self._last = self._outer_reads = 0
        self._tables: dict[str, dict[str, pa.Array | pa.ChunkedArray]] = {}

    def next_number(self) -> int:
        self._last += 1
        return self._last

    def add_table(self, place: Key, table: Table, number: int) -> None:
        rows = self.upstream.rows.get(place)
        if rows is None:
            texts: Mapping[str, pa.Array] = {column.name: pa.nulls(0, pa.string()) for column in visible_columns(table)}
            self.add_rows(table, number, texts, 0)
            self._tables[f"rows {number}"][f"{number}.{ROW_ID}"] = pa.nulls(0, pa.int64())
            return
        cells = {column.name: rows.cells.column(column.name) for column in visible_columns(table)}
        self.add_rows(table, number, cells, rows.cells.num_rows)
        self._tables[f"rows {number}"][f"{number}.{ROW_ID}"] = rows.row_ids

    def add_rows(self, table: Table, number: int, texts: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> None:
        cells: dict[str, pa.Array | pa.ChunkedArray] = {f"{number}.place": pa.array(np.arange(rows))}
        for place, column in enumerate(table.columns):
            if column.name in texts:
                cells[f"{number}.{place}"] = texts[column.name]
        self._tables[f"rows {number}"] = cells

    def separate(self) -> StatementEvaluation:
        return StatementEvaluation(self.upstream, self.now_ms, self._problems)

    def watched_problems(self) -> list[str]:
        return list(self._watched)

    def restore_watched(self, watched: Sequence[str]) -> None:
        self._watched = list(watched)

    def fetch(self, wanted: Mapping[str, Sql], source: str, order: str = "") -> pa.Table:
        watched, self._watched = self._watched, []
        if watched:
            result = self.run(" UNION ALL ".join(watched))
            self._problems.handle([(kind, result.column(kind)) for kind in KINDS])
        problems = [problem for root in wanted.values() for problem in collect_problems(root).items()]
        problem_columns = {f"{PROBLEM} {place}": problem for place, (_, problem) in enumerate(problems)}
        result = self.run(select_query({**wanted, **problem_columns}, source, f"{self.next_number()}:") + order)
        if problems:
            self._problems.handle(
                [(kind, result.column(name)) for (kind, _), name in zip(problems, problem_columns, strict=True)]
            )
        return result

    def watch_problems(self, expressions: Iterable[Sql], source: str) -> None:
        for root in expressions:
            problems = collect_problems(root)
            if problems:
                columns = {kind: problems.get(kind, sql("NULL::VARCHAR")) for kind in KINDS}
                has_problem = " OR ".join(f"{kind} IS NOT NULL" for kind in problems)
                text = select_query(columns, source, f"{self.next_number()}:")
                self._watched.append(f"(SELECT * FROM ({text}) WHERE {has_problem} LIMIT {MAX_WARNINGS})")

    def note_outer_reference(self) -> None:
        self._outer_reads += 1

    @contextmanager
    def subquery(self) -> Iterator[None]:
        before, reads = len(self._watched), self._outer_reads
        yield
        if self._outer_reads > reads:
            del self._watched[before:]

    def run(self, text: str) -> pa.Table:
        """Run a query. Raises SqlError."""
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

    def scalar_subquery(self, query: QueryTree, scope: QueryScope) -> Value:
        return subqueries.scalar_subquery(query, self, scope)

    def in_subquery(self, values: list[Value], query: QueryTree, scope: QueryScope) -> Sql:
        return subqueries.in_subquery(values, query, self, scope)

    def exists_subquery(self, query: QueryTree, scope: QueryScope) -> Sql:
        return subqueries.exists_subquery(query, self, scope)

    def quantified_comparison(self, value: Value, comparison: Quantified, scope: QueryScope) -> Sql:
        return subqueries.quantified_comparison(value, comparison, self, scope)


def _sql_error_of(problem: str) -> SqlError:
    """Return TiDB's error for an error of DuckDB."""
    if SEVERAL_ROWS in problem:
        return SqlError(1242, "21000", "Subquery returns more than 1 row")
    if NOT_IN_TRY in problem:
        return not_simulated(
            "arithmetic with a subquery is not computed: the subquery alone, or a variable set by it, is"
        )
    if OUT_OF_RANGE in problem:
        return SqlError(1690, "22003", problem.partition("Error: ")[2])
    return not_simulated(f"the statement is not computed: {problem}")
