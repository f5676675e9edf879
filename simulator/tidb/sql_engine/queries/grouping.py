"""GROUP BY, DISTINCT, and the set operations UNION, EXCEPT and INTERSECT.

A group shows the values of its first row. With ONLY_FULL_GROUP_BY a value that may differ within the group is refused,
as in TiDB (pkg/planner/core/logical_plan_builder.go, checkOnlyFullGroupBy).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import common_type, convert_to
from simulator.tidb.expressions.sql.graph import Sql, identifier, quote, select_query, sql
from simulator.tidb.expressions.sql.problems import KINDS, collect_problems, strip_problems, with_problems
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.expressions.values.collations import union_collation, with_collation
from simulator.tidb.expressions.values.value import Value
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.queries.aggregates import aggregate_value
from simulator.tidb.sql_engine.queries.scopes import Evaluation, Field, QueryScope, map_value, shown_column, value_field
from simulator.tidb.sql_engine.queries.sorting import distinct_key, order_term, sort_key
from simulator.tidb.sql_engine.queries.sources import Relation, filter_rows
from simulator.tidb.syntax.expressions import Binary, ColumnName, Literal, Node
from simulator.tidb.syntax.queries import Aggregate


def export_value(value: Value, column: str) -> tuple[dict[str, Sql], Value]:
    """Return the columns that a value needs outside of the query that computes it, and the value there."""
    if value.kind == "null":
        return {}, value
    if value.kind == "real" and value.constant is not None:
        value = replace(value, text=None)
    parts = {column: value.sql}
    if value.text is not None:
        parts[f"{column} text"] = value.text
    if value.number is not None:
        parts[f"{column} number"] = value.number
    problems = collect_problems(value.sql)
    parts |= {f"{column} {kind}": problem for kind, problem in problems.items()}
    outer_value = with_problems(identifier(column), {kind: identifier(f"{column} {kind}") for kind in problems})
    return parts, replace(
        value,
        sql=outer_value,
        constant=None,
        text=None if value.text is None else identifier(f"{column} text"),
        number=None if value.number is None else identifier(f"{column} number"),
    )


class Grouping:
    """A query with groups: the columns that its clauses need for each row and for each group."""

    def __init__(
        self,
        evaluation: Evaluation,
        scope: QueryScope,
        relation: Relation,
        keys: Sequence[tuple[Node, Value]],
        fixed: Collection[Field],
        whole: bool,
    ) -> None:
        self._evaluation, self._scope, self._relation = evaluation, scope, relation
        self._number = evaluation.next_number()
        self._row = quote(f"{self._number}.row")
        order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
        self._rows: dict[str, Sql] = {f"{self._number}.row": sql(f"row_number() OVER ({order.strip()})")}
        self._groups: dict[str, str] = {}
        self._kept: dict[Field, Value] = {}
        self._aggregates: dict[Aggregate, Value] = {}
        self._whole, self._fixed = whole, set(fixed)
        """Whether all rows are one group; fields that have one value in each group."""
        self._keys = [self.column(distinct_key(value)) for _, value in keys]
        self._known = [(node, self.first(value, self._row)) for node, value in keys]
        self.first_row = self._over(f"min({self._row})")
        self.place = "SELECT list", 1
        """The clause that asks, and the number of its expression."""

    def column(self, expression: Sql) -> str:
        column = f"{self._number}.{len(self._rows)}"
        self._rows[column] = expression
        return quote(column)

    def _over(self, text: str) -> str:
        column = f"{self._number}:{len(self._groups)}"
        self._groups[column] = text
        return quote(column)

    def over(self, text: str) -> Sql:
        return Sql((self._over(text),))

    def first(self, value: Value, order: str, where: str = "") -> Value:
        column = f"{self._number}.{len(self._rows)}"
        parts, outer_value = export_value(value, column)
        self._rows |= parts
        among = f" FILTER (WHERE {where})" if where else ""
        terms = order if order == self._row else f"{order}, {self._row}"

        def first_value(part: Sql) -> Sql:
            return self.over(f"first({''.join(strip_problems(part).pieces)} ORDER BY {terms}){among}")

        return map_value(outer_value, first_value)

    def sorting(self, tree: Aggregate) -> list[str]:
        terms = []
        for item in tree.order:
            key = self.column(sort_key(translate(item.expression, self._scope)))
            terms.append(order_term(key, item.descending))
        return [*terms, self._row]

    def aggregate(self, tree: Aggregate) -> Value:
        """Return the value of an aggregate function for each group."""
        if tree not in self._aggregates:
            values = [translate(argument, self._scope) for argument in tree.arguments]
            self._aggregates[tree] = aggregate_value(tree, values, self)
        return self._aggregates[tree]

    def read(self, field: Field) -> Value:
        """Return a column for each group. Raises SqlError 1055, 1140."""
        if field not in self._kept:
            if not self._is_fixed(field):
                raise self._mixed(field)
            self._kept[field] = self.first(field.read(), self._row)
        return self._kept[field]

    def _is_fixed(self, field: Field) -> bool:
        """Return whether all rows of a group have the same value, because of GROUP BY, WHERE or a key."""
        if "ONLY_FULL_GROUP_BY" not in self._evaluation.upstream.session.sql_mode:
            return True
        keys = {self._scope.find(node) for node, _ in self._known if isinstance(node, ColumnName)} | self._fixed
        return field in keys or field.source > 0 and self._has_key(field.source, keys)

    def _has_key(self, source: int, keys: set[Field | None]) -> bool:
        """Return whether the columns contain a key of a base table."""
        column_names = {key.name.lower() for key in keys if key is not None and key.source == source}
        base = next(base for base in self._relation.bases if base.place == f"{source}.place")
        unique = [base.table.primary_key] if base.table.primary_key else []
        required = {column.name for column in base.table.columns if column.not_null}
        unique += [
            tuple(part.name for part in index.columns)
            for index in base.table.indexes
            if index.unique and all(part.name in required and part.length < 0 for part in index.columns)
        ]
        return any(column_names >= {part.lower() for part in columns} for columns in unique)

    def _mixed(self, field: Field) -> SqlError:
        clause, number = self.place
        schema = field.schema or self._evaluation.upstream.session.database
        column_name = f"{schema}.{field.table}.{field.name}" if field.table else field.name
        if self._whole:
            return sql_error(1140, number, clause, column_name)
        return sql_error(1055, number, clause, column_name)

    def known(self, node: Node) -> Node | None:
        """Return the value of an expression of GROUP BY, or None."""
        return next((KnownValue(value) for key, value in self._known if key == node), None)

    def shown(self) -> list[Value]:
        """Return the values of GROUP BY for each group."""
        return [value for _, value in self._known]

    def scope(self) -> QueryScope:
        """Return the scope of expressions over the groups."""
        return replace(self._scope, aggregate=self.aggregate, through=self.read)

    def relation(self) -> Relation:
        """Return a row for each group with all columns that were added."""
        self._evaluation.watch_problems(self._rows.values(), self._relation.sql)
        rows = select_query(self._rows, self._relation.sql, f"{self._evaluation.next_number()}:")
        columns = ", ".join(f"{text} AS {quote(column)}" for column, text in self._groups.items())
        groups = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        return Relation(f"(SELECT {columns} FROM ({rows}){groups})", (), (self.first_row,))


def group_by_values(relation: Relation, evaluation: Evaluation) -> tuple[Grouping, tuple[Field, ...]]:
    """Return the distinct rows of a relation as groups, and their columns."""
    keys = [(KnownValue(value), value) for value in (field.read() for field in relation.fields)]
    grouping = Grouping(evaluation, QueryScope(evaluation), relation, keys, (), False)
    fields = (
        value_field(field.name, value, shown_column(field))
        for field, value in zip(relation.fields, grouping.shown(), strict=True)
    )
    return grouping, tuple(fields)


def distinct_rows(relation: Relation, evaluation: Evaluation) -> Relation:
    """Return each distinct row of a relation once."""
    grouping, fields = group_by_values(relation, evaluation)
    return replace(grouping.relation(), fields=fields)


def constant_columns(where: Node | None, scope: QueryScope) -> list[Field]:
    """Return the columns for which a condition allows one value: `a = 1 AND …`."""
    fields: list[Field] = []
    for node in conjuncts(where):
        if isinstance(node, Binary) and node.operator == "=":
            left, right = strip_parentheses(node.left), strip_parentheses(node.right)
            for side, other in ((left, right), (right, left)):
                if isinstance(side, ColumnName) and isinstance(other, Literal) and (field := scope.find(side)):
                    fields.append(field)
    return fields


def _common_value(values: Sequence[Value]) -> Value:
    kind = common_type(values)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


def stack_relations(sides: Sequence[Relation], evaluation: Evaluation) -> Relation:
    """Return the rows of all relations one after the other, in the common types of their columns."""
    if len({len(side.fields) for side in sides}) > 1:
        raise sql_error(1222)
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
