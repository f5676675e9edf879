"""The evaluation of one statement in DuckDB: the tables that it reads, names for its columns, its queries, its problems.

A table is added once for each mention in the statement, with the columns that are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.expressions.operators.comparisons import comparison, comparison_operands
from simulator.tidb.expressions.sql.evaluate import EvaluationError, Interrupted, MemoryExceeded, as_strings, run_query
from simulator.tidb.expressions.sql.graph import Sql, quote, select_query, sql
from simulator.tidb.expressions.sql.problems import (
    ALWAYS,
    DIVIDED,
    KINDS,
    TRUNCATED,
    collect_problems,
    strip_problems,
    with_problems,
)
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.model.table import ROW_ID, Table, visible_columns
from simulator.tidb.sql_engine.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.sql_engine.queries.scopes import QueryScope, all_true, map_value
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.sources import Relation
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream


class ExpressionProblems:
    """The problems of one statement's expressions. The first error is raised; warnings are collected (tidb
    pkg/executor/executor.go, ResetContextOfStmt, ResetUpdateStmtCtx, ResetDeleteStmtCtx; pkg/errctx)."""

    def __init__(self, session: SqlSession, writing: bool = False, ignore: bool = False) -> None:
        """`writing` is true for INSERT, UPDATE and DELETE, `ignore` for a statement with IGNORE."""
        self.warnings: list[str] = []
        is_strict = not session.sql_mode.isdisjoint(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))
        strict = writing and not ignore and is_strict
        divided = not writing or "ERROR_FOR_DIVISION_BY_ZERO" in session.sql_mode
        self._errors = {ALWAYS, *((TRUNCATED, *((DIVIDED,) if divided else ())) if strict else ())}
        self._silent: set[str] = set() if divided else {DIVIDED}

    def handle(self, problem_columns: Sequence[tuple[str, pa.ChunkedArray]]) -> None:
        """Handle the problems of expressions over the same rows, each with its kind. Raises SqlError."""
        errors = [
            (pc.index(problems.is_valid(), True).as_py(), place)
            for place, (kind, problems) in enumerate(problem_columns)
            if kind in self._errors
        ]
        row, place = min(((row, place) for row, place in errors if row >= 0), default=(-1, 0))
        if row >= 0:
            number, _, text = problem_columns[place][1][row].as_py().partition(" ")
            raise sql_error_with_text(int(number), text)
        for kind, problems in problem_columns:
            if kind not in self._silent:
                self.warnings += problems.drop_null().slice(0, MAX_WARNINGS - len(self.warnings)).to_pylist()


PROBLEM = "problem"
"""The name of the columns that hold the problems of rows."""

SEVERAL_ROWS = "More than one row returned by a subquery"
NOT_IN_TRY = "TRY can not be used in combination with a scalar subquery"
OUT_OF_RANGE = "value is out of range in "
IN_ROWS = 'CASE WHEN bool_or("matches") THEN true WHEN bool_or("matches" IS NULL) THEN NULL ELSE false END'
"""Whether a value is IN the rows of a subquery: NULL if only a NULL could match."""


class StatementEvaluation:
    """Implements `scopes.Evaluation`. Subqueries are text, in which columns of the queries around are named as there."""

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

    def fetch(self, columns: Mapping[str, Sql], source: str, order: str = "") -> pa.Table:
        watched, self._watched = self._watched, []
        if watched:
            result = self.run(" UNION ALL ".join(watched))
            self._problems.handle([(kind, result.column(kind)) for kind in KINDS])
        problems = [problem for root in columns.values() for problem in collect_problems(root).items()]
        problem_columns = {f"{PROBLEM} {place}": problem for place, (_, problem) in enumerate(problems)}
        result = self.run(select_query({**columns, **problem_columns}, source, f"{self.next_number()}:") + order)
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
        except MemoryExceeded:
            raise sql_error(8175, self.upstream.session.connection_id) from None
        except Interrupted:
            raise sql_error(1317) from None
        except EvaluationError as error:
            raise _sql_error_of(str(error)) from None

    def scalar_subquery(self, query: syntax.QueryTree, scope: QueryScope) -> Value:
        relation = self._subquery_relation(query, scope, 1)

        def part(expression: Sql) -> Sql:
            problems = {
                kind: _verbatim("(SELECT {} FROM {})", "".join(problem.pieces), relation.sql)
                for kind, problem in expression.problems
            }
            pieces = "".join(strip_problems(expression).pieces)
            return with_problems(_verbatim("(SELECT {} FROM {})", pieces, relation.sql), problems)

        return map_value(relation.fields[0].read(), part)

    def in_subquery(self, values: list[Value], query: syntax.QueryTree, scope: QueryScope) -> Sql:
        relation = self._subquery_relation(query, scope, len(values))
        others = [field.read() for field in relation.fields]
        if len(values) == 1 and "null" not in (values[0].kind, others[0].kind):
            return self._compare_with_rows("{} IN ({})", values[0], others[0], relation)
        conditions = all_true([comparison("=", value, other) for value, other in zip(values, others, strict=True)])
        self.watch_problems([value.sql for value in others], relation.sql)
        text = select_query({"matches": conditions}, relation.sql, f"{self.next_number()}:")
        return _verbatim(f"(SELECT {IN_ROWS} FROM ({{}}))", text)

    def exists_subquery(self, query: syntax.QueryTree, scope: QueryScope) -> Sql:
        with self.subquery():
            return _verbatim("EXISTS (SELECT 1 FROM {})", build_relation(query, self, scope).sql)

    def quantified_comparison(self, value: Value, comparison: syntax.Quantified, scope: QueryScope) -> Sql:
        relation = self._subquery_relation(comparison.query, scope, 1)
        other, compared = relation.fields[0].read(), f"{comparison.operator} {comparison.quantifier}"
        if "null" in (value.kind, other.kind) or comparison.operator == "<=>":
            raise not_simulated(f"{compared} of NULL is not computed; a column or a value is accepted")
        return self._compare_with_rows(f"{{}} {compared} ({{}})", value, other, relation)

    def _subquery_relation(self, query: syntax.QueryTree, scope: QueryScope, columns: int) -> Relation:
        with self.subquery():
            relation = build_relation(query, self, scope)
        if len(relation.fields) != columns:
            raise sql_error(1241, columns)
        return relation

    def _compare_with_rows(self, template: str, value: Value, other: Value, relation: Relation) -> Sql:
        """Return the comparison of a value with the rows of a column."""
        left, right = comparison_operands(value, other)
        self.watch_problems([right], relation.sql)
        text = select_query({"value": right}, relation.sql, f"{self.next_number()}:")
        before, between, after = template.split("{}")
        return Sql((before, f"{between}{text}{after}"), (left,))


def _verbatim(template: str, *texts: str) -> Sql:
    """Return text as an expression with one part: if it is used often, it is computed once."""
    return sql("{}", Sql((template.format(*texts),)))


def _sql_error_of(problem: str) -> SqlError:
    """Return TiDB's error for an error of DuckDB."""
    if SEVERAL_ROWS in problem:
        return sql_error(1242)
    if NOT_IN_TRY in problem:
        return not_simulated(
            "arithmetic with a subquery is not computed: the subquery alone, or a variable set by it, is"
        )
    if OUT_OF_RANGE in problem:
        return SqlError(1690, "22003", problem.partition("Error: ")[2])
    return not_simulated(f"the statement is not computed: {problem}")
