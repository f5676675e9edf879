"""Table routing: under which names messages tell of tables (`target-schema`, `target-table` of dispatch rules).

One law: the first rule with a target that matches decides, and no two tables go under one name. Topics, partitions and
filters go by the names in TiDB. Source: ticdc v8.5.7 pkg/routing/{router,registry}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulator.errors import DdlError
from simulator.ticdc.changefeed.model import DispatchRule
from simulator.ticdc.filters.rules import TableFilter, table_filter
from simulator.tidb.syntax.definitions import TableName


@dataclass(frozen=True)
class TableRoute:
    matcher: TableFilter
    schema: str
    """Literal text, `{schema}` and `{table}`; empty keeps the name, as of the table."""

    table: str


@dataclass(frozen=True)
class TableRoutes:
    """The rules with a target, in order."""

    rules: tuple[TableRoute, ...] = ()

    def target(self, schema: str, table: str) -> TableName:
        """The names in messages; `table` is empty for a database. Raises DdlError where rules give a database several
        names."""
        rule = self._of_schema(schema) if not table else self._of_table(schema, table)
        if rule is None or not schema:
            return TableName(schema, table)
        found = _filled(rule.schema, schema, table, schema)
        return TableName(found, _filled(rule.table, schema, table, table) if table else "")

    def _of_table(self, schema: str, table: str) -> TableRoute | None:
        return next((rule for rule in self.rules if rule.matcher.match(schema, table)), None)

    def _of_schema(self, schema: str) -> TableRoute | None:
        found = [rule for rule in self.rules if rule.matcher.match_schema(schema)]
        names = list(dict.fromkeys(_filled(rule.schema, schema, "", schema) for rule in found))
        if len(names) > 1:
            problem = f"target schema {names[1]} conflicts with {names[0]}"
            raise DdlError(f"ambiguous schema routing for schema {schema}: {problem}", "CDC:ErrTableRoutingFailed")
        return found[0] if found else None


def table_routes(rules: Sequence[DispatchRule], case_sensitive: bool) -> TableRoutes:
    """Raises ChangefeedError (CDC:ErrFilterRuleInvalid) for a matcher."""
    return TableRoutes(
        tuple(
            TableRoute(table_filter(rule.matcher, case_sensitive), rule.target_schema, rule.target_table)
            for rule in rules
            if rule.target_schema or rule.target_table
        )
    )


def conflict(routes: TableRoutes, names: Iterable[tuple[str, str]]) -> str:
    """What TiCDC says of the first two tables that go under one name, with its code CDC:ErrTableRouteConflict; empty
    where there are none."""
    owners: dict[TableName, tuple[str, str]] = {}
    for name in names:
        target = routes.target(*name)
        owner = owners.setdefault(target, name)
        if owner != name:
            mapped, first, second = (f"`{schema}`.`{table}`" for schema, table in (target, owner, name))
            return f"table route conflict: target {mapped} is mapped by both source {first} and source {second}"
    return ""


def _filled(expression: str, schema: str, table: str, kept: str) -> str:
    return expression.replace("{schema}", schema).replace("{table}", table) if expression else kept
