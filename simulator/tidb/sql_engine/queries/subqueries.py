"""Subqueries inside of expressions: as a value, as the rows of IN, ANY and ALL, and in EXISTS.

A subquery is rendered as text. It names columns of the queries around it as these do.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.expressions.operators.comparisons import comparison, comparison_operands
from simulator.tidb.expressions.sql.graph import Sql, sql
from simulator.tidb.expressions.sql.graph import select_query as rendered
from simulator.tidb.expressions.sql.problems import strip_problems, with_problems
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.queries.scopes import Evaluation, QueryScope, all_true
from simulator.tidb.sql_engine.queries.selects import build_relation
from simulator.tidb.sql_engine.queries.sources import Relation
from simulator.tidb.syntax.queries import Quantified, QueryTree


def _check_columns(relation: Relation, columns: int) -> None:
    if len(relation.fields) != columns:
        raise SqlError(1241, "21000", f"Operand should contain {columns} column(s)")


def _verbatim(template: str, *texts: str) -> Sql:
    """Return text as an expression with one part: if it is used often, it is computed once."""
    return sql("{}", Sql((template.format(*texts),)))


def scalar_subquery(query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Value:
    """Return the value of a query of at most one row."""
    with evaluation.subquery():
        relation = build_relation(query, evaluation, scope)
    _check_columns(relation, 1)
    value = relation.fields[0].read()
    if value.kind == "null":
        return value

    def part(expression: Sql | None) -> Sql | None:
        if expression is None:
            return None
        problems = {
            kind: _verbatim("(SELECT {} FROM {})", "".join(problem.pieces), relation.sql)
            for kind, problem in expression.problems
        }
        return with_problems(
            _verbatim("(SELECT {} FROM {})", "".join(strip_problems(expression).pieces), relation.sql), problems
        )

    return replace(
        value, constant=None, sql=part(value.sql) or value.sql, text=part(value.text), number=part(value.number)
    )


def in_subquery(values: list[Value], query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Sql:
    """Return `value IN (query)` or `(a, b) IN (query)`: NULL if only a NULL could match."""
    with evaluation.subquery():
        relation = build_relation(query, evaluation, scope)
    _check_columns(relation, len(values))
    others = [field.read() for field in relation.fields]
    if len(values) == 1 and "null" not in (values[0].kind, others[0].kind):
        return _compare_with_rows("{} IN ({})", values[0], others[0], relation, evaluation)
    conditions = all_true([comparison("=", value, other) for value, other in zip(values, others, strict=True)])
    evaluation.watch_problems([value.sql for value in others], relation.sql)
    text = rendered({"matches": conditions}, relation.sql, f"{evaluation.next_number()}:")
    template = '(SELECT CASE WHEN bool_or("matches") THEN true WHEN bool_or("matches" IS NULL) THEN NULL ELSE false END FROM ({}))'
    return _verbatim(template, text)


def _compare_with_rows(template: str, value: Value, other: Value, relation: Relation, evaluation: Evaluation) -> Sql:
    """Return the comparison of a value with the rows of a column."""
    left, right = comparison_operands(value, other)
    evaluation.watch_problems([right], relation.sql)
    text = rendered({"value": right}, relation.sql, f"{evaluation.next_number()}:")
    before, between, after = template.split("{}")
    return Sql((before, f"{between}{text}{after}"), (left,))


def exists_subquery(query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Sql:
    with evaluation.subquery():
        return _verbatim("EXISTS (SELECT 1 FROM {})", build_relation(query, evaluation, scope).sql)


def quantified_comparison(value: Value, comparison_tree: Quantified, evaluation: Evaluation, scope: QueryScope) -> Sql:
    """Return `value > ALL (query)` and the like."""
    with evaluation.subquery():
        relation = build_relation(comparison_tree.query, evaluation, scope)
    _check_columns(relation, 1)
    other = relation.fields[0].read()
    if "null" in (value.kind, other.kind) or comparison_tree.operator == "<=>":
        raise not_simulated(
            f"{comparison_tree.operator} {comparison_tree.quantifier} of NULL is not computed; a column or a value is accepted"
        )
    return _compare_with_rows(
        f"{{}} {comparison_tree.operator} {comparison_tree.quantifier} ({{}})", value, other, relation, evaluation
    )
