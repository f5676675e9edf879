"""UNION, EXCEPT and INTERSECT of relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import common_type, convert_to
from simulator.tidb.expressions.sql.graph import Sql, identifier, quote, select_query, sql
from simulator.tidb.expressions.sql.problems import KINDS, collect_problems, with_problems
from simulator.tidb.expressions.values.collations import union_collation, with_collation
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.sql_engine.queries.grouping import group_by_values
from simulator.tidb.sql_engine.queries.scopes import Evaluation, value_field
from simulator.tidb.sql_engine.queries.sources import Relation, filter_rows


def _common_value(values: Sequence[Value]) -> Value:
    kind = common_type(values)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


def stack_relations(sides: Sequence[Relation], evaluation: Evaluation) -> Relation:
    """Return the rows of all relations one after the other, in the common types of their columns."""
    if len({len(side.fields) for side in sides}) > 1:
        raise SqlError(1222, "21000", "The used SELECT statements have a different number of columns")
    number = evaluation.next_number()
    columns = list(zip(*([field.read() for field in side.fields] for side in sides), strict=True))
    kinds = [_common_value(values) for values in columns]
    texts, flawed = [], set[tuple[int, str]]()
    for place, side in enumerate(sides):
        outputs = {
            f"{number}.{column}": convert_to(values[place], kind)
            for column, (values, kind) in enumerate(zip(columns, kinds, strict=True))
        }
        order = f" ORDER BY {', '.join(side.order)}" if side.order else ""
        outputs |= {f"{number}.side": sql(str(place)), f"{number}.row": sql(f"row_number() OVER ({order.strip()})")}
        for column in range(len(kinds)):
            problems = collect_problems(outputs[f"{number}.{column}"])
            flawed |= {(column, problem) for problem in problems}
            outputs |= {
                f"{number}.{column} {problem}": problems.get(problem, sql("NULL::VARCHAR")) for problem in KINDS
            }
        texts.append(select_query(outputs, side.sql, f"{evaluation.next_number()}:"))
    fields = []
    for column, (field, kind) in enumerate(zip(sides[0].fields, kinds, strict=True)):
        if kind.kind != "null":
            problems = {
                problem: identifier(f"{number}.{column} {problem}") for problem in KINDS if (column, problem) in flawed
            }
            kind = replace(kind, sql=with_problems(identifier(f"{number}.{column}"), problems))
        fields.append(value_field(field.name, kind))
    rows = quote(f"{number}.side"), quote(f"{number}.row")
    return Relation(f"({' UNION ALL '.join(texts)})", tuple(fields), rows)


def except_or_intersect(operator: str, sides: Sequence[Relation], evaluation: Evaluation) -> Relation:
    """Return each distinct row of the first relation that the second does not have (EXCEPT), or has (INTERSECT)."""
    both = stack_relations(sides, evaluation)
    grouping, fields = group_by_values(both, evaluation)
    side = grouping.column(Sql((both.order[0],)))
    first, second = (grouping.over(f"count(*) FILTER (WHERE {side} = {place})") for place in (0, 1))
    groups = grouping.relation()
    condition = sql(f"{{}} > 0 AND {{}} {'= 0' if operator == 'EXCEPT' else '> 0'}", first, second)
    return replace(groups, sql=filter_rows(groups.sql, condition, evaluation), fields=fields)
