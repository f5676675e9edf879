"""Queries inside of expressions: as a value, as the rows of IN, ANY and ALL, as EXISTS.

One law: a subquery is told by its text alone, and names columns of the queries around it as they do themselves.
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
    """Text that stands for itself, as an expression with a part: used often it is computed once."""
    return sql("{}", Sql((template.format(*texts),)))


def scalar_subquery(query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Value:
    """The value of the one row that a query has at most."""
    with evaluation.subquery():
        relation = build_relation(query, evaluation, scope)
    _check_columns(relation, 1)
    value = relation.fields[0].read()
    if value.kind == "null":
        return value

    def part(found: Sql | None) -> Sql | None:
        if found is None:
            return None
        problems = {
            kind: _verbatim("(SELECT {} FROM {})", "".join(problem.pieces), relation.sql)
            for kind, problem in found.problems
        }
        return with_problems(
            _verbatim("(SELECT {} FROM {})", "".join(strip_problems(found).pieces), relation.sql), problems
        )

    return replace(
        value, constant=None, sql=part(value.sql) or value.sql, text=part(value.text), number=part(value.number)
    )


def in_subquery(values: list[Value], query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Sql:
    """`value IN (query)`, `(a, b) IN (query)`: NULL where a NULL may be it."""
    with evaluation.subquery():
        relation = build_relation(query, evaluation, scope)
    _check_columns(relation, len(values))
    others = [field.read() for field in relation.fields]
    if len(values) == 1 and "null" not in (values[0].kind, others[0].kind):
        return _compare_with_rows("{} IN ({})", values[0], others[0], relation, evaluation)
    conditions = all_true([comparison("=", value, other) for value, other in zip(values, others, strict=True)])
    evaluation.watch([value.sql for value in others], relation.sql)
    text = rendered({"found": conditions}, relation.sql, f"{evaluation.number()}:")
    found = (
        'SELECT CASE WHEN bool_or("found") THEN true WHEN bool_or("found" IS NULL) THEN NULL ELSE false END FROM ({})'
    )
    return _verbatim(f"({found})", text)


def _compare_with_rows(template: str, value: Value, other: Value, relation: Relation, evaluation: Evaluation) -> Sql:
    """A comparison of a value with those of a column of a relation."""
    left, right = comparison_operands(value, other)
    evaluation.watch([right], relation.sql)
    text = rendered({"found": right}, relation.sql, f"{evaluation.number()}:")
    before, between, after = template.split("{}")
    return Sql((before, f"{between}{text}{after}"), (left,))


def exists_subquery(query: QueryTree, evaluation: Evaluation, scope: QueryScope) -> Sql:
    with evaluation.subquery():
        return _verbatim("EXISTS (SELECT 1 FROM {})", build_relation(query, evaluation, scope).sql)


def quantified_comparison(value: Value, asked: Quantified, evaluation: Evaluation, scope: QueryScope) -> Sql:
    """`value > ALL (query)`"""
    with evaluation.subquery():
        relation = build_relation(asked.query, evaluation, scope)
    _check_columns(relation, 1)
    other = relation.fields[0].read()
    if "null" in (value.kind, other.kind) or asked.operator == "<=>":
        raise not_simulated(
            f"{asked.operator} {asked.quantifier} of NULL is not computed; a column or a value is accepted"
        )
    return _compare_with_rows(f"{{}} {asked.operator} {asked.quantifier} ({{}})", value, other, relation, evaluation)
