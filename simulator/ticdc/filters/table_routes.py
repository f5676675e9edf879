"""Table routing: the names of tables in messages (`target-schema`, `target-table` of dispatch rules).

The first matching rule with a target decides, and no two tables may get the same name. Topics, partitions and filters
use the names in TiDB. Source: ticdc v8.5.7 pkg/routing/{router,registry}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulator.errors import DdlError
from simulator.ticdc.changefeed.model import DispatchRule
from simulator.ticdc.filters.filter_rules import TableFilter, table_filter
from simulator.tidb.syntax.expressions import TableName


@dataclass(frozen=True)
class TableRoute:
    """A dispatch rule with a target."""

    matcher: TableFilter
    schema: str
    """Literal text, `{schema}` and `{table}`; empty keeps the name. The same holds for `table`."""

    table: str


@dataclass(frozen=True)
class TableRoutes:
    """The rules with a target, in order."""

    rules: tuple[TableRoute, ...] = ()

    def target(self, schema: str, table: str) -> TableName:
        """Return the names in messages; `table` is empty for a database.

        Raise DdlError if rules give a database several names.
        """
        rule = self._rule_of_schema(schema) if not table else self._rule_of_table(schema, table)
        if rule is None or not schema:
            return TableName(schema, table)
        target_schema = _substitute(rule.schema, schema, table, schema)
        return TableName(target_schema, _substitute(rule.table, schema, table, table) if table else "")

    def _rule_of_table(self, schema: str, table: str) -> TableRoute | None:
        return next((rule for rule in self.rules if rule.matcher.match(schema, table)), None)

    def _rule_of_schema(self, schema: str) -> TableRoute | None:
        rules = [rule for rule in self.rules if rule.matcher.match_schema(schema)]
        names = list(dict.fromkeys(_substitute(rule.schema, schema, "", schema) for rule in rules))
        if len(names) > 1:
            problem = f"target schema {names[1]} conflicts with {names[0]}"
            raise DdlError(f"ambiguous schema routing for schema {schema}: {problem}", "CDC:ErrTableRoutingFailed")
        return rules[0] if rules else None


def table_routes(rules: Sequence[DispatchRule], case_sensitive: bool) -> TableRoutes:
    """Return the rules with a target; raise ChangefeedError (CDC:ErrFilterRuleInvalid) for a matcher."""
    return TableRoutes(
        tuple(
            TableRoute(table_filter(rule.matcher, case_sensitive), rule.target_schema, rule.target_table)
            for rule in rules
            if rule.target_schema or rule.target_table
        )
    )


def find_conflict(routes: TableRoutes, names: Iterable[tuple[str, str]]) -> str:
    """Return TiCDC's text for the first two tables with one name (CDC:ErrTableRouteConflict); empty without any."""
    owners: dict[TableName, tuple[str, str]] = {}
    for name in names:
        target = routes.target(*name)
        owner = owners.setdefault(target, name)
        if owner != name:
            mapped, first, second = (f"`{schema}`.`{table}`" for schema, table in (target, owner, name))
            return f"table route conflict: target {mapped} is mapped by both source {first} and source {second}"
    return ""


def _substitute(expression: str, schema: str, table: str, kept: str) -> str:
    return expression.replace("{schema}", schema).replace("{table}", table) if expression else kept
