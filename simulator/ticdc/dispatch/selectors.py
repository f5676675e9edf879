"""The columns that `[sink] column-selectors` leave in a table's messages.

The first selector whose matcher fits the table decides, once per table on the driver. Source: tiflow v8.5.3
cdc/sink/dmlsink/mq/transformer/columnselector; ticdc downstreamadapter/sink/columnselector.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc.changefeed.model import ColumnSelector
from simulator.ticdc.filters.filter_rules import ColumnFilter, TableFilter, column_filter, table_filter
from simulator.tidb.model.table import Table, visible_columns


@dataclass(frozen=True)
class Selector:
    """A compiled entry."""

    tables: TableFilter
    columns: ColumnFilter

    def matches(self, table: Table) -> bool:
        return self.tables.match(table.schema, table.name)


def compile_selectors(rules: Iterable[ColumnSelector], case_sensitive: bool) -> tuple[Selector, ...]:
    """Return the selectors; raise ChangefeedError (CDC:ErrFilterRuleInvalid). Column names match in any letter case."""
    return tuple(Selector(table_filter(rule.matcher, case_sensitive), column_filter(rule.columns)) for rule in rules)


def selected_columns(selectors: Sequence[Selector], table: Table, release: Release) -> frozenset[str] | None:
    """Return the visible columns that are left, or None if all are.

    Raise ChangefeedError (CDC:ErrColumnSelectorFailed) if the release would fail at the table's first row.
    """
    selector = next((selector for selector in selectors if selector.matches(table)), None)
    if selector is None:
        return None
    names = [column.name for column in visible_columns(table)]
    left = frozenset(name for name in names if selector.columns.match(name))
    if release.column_selectors == "rows":
        _require_key(table, left, release)
    return None if len(left) == len(names) else left


def verify_selectors(
    selectors: Sequence[Selector], table: Table, dispatched: Collection[str], release: Release
) -> None:
    """Check a table with every selector that matches it, as TiCDC does when a changefeed starts.

    `dispatched` are the columns of its rule if the dispatcher is `columns`. Raise ChangefeedError
    (CDC:ErrColumnSelectorFailed).
    """
    for selector in selectors:
        if selector.matches(table):
            names = [column.name for column in table.columns]
            left = {name for name in names if selector.columns.match(name)}
            lost = next((name for name in names if name not in left and name in dispatched), None)
            if lost is not None:
                where = f"table: {table.schema}.{table.name}, column: {lost}"
                raise _failed(f"the filtered out column is used in the column dispatcher, {where}")
            _require_key(table, left, release)


def _require_key(table: Table, left: Collection[str], release: Release) -> None:
    """Raise ChangefeedError unless the primary or a unique key is left whole; a table without primary key passes."""
    keys = [index.columns for index in table.indexes if index.unique or index.primary]
    whole = [all(column.name in left for column in columns) for columns in keys]
    primary = all(name in left for name in table.primary_key)
    if not any(whole) and not (primary and (table.primary_key or not release.selectors_want_key)):
        text = "no primary key columns or unique key columns obtained after filter out, table:"
        raise _failed(f"{text} {table.schema}.{table.name}")


def _failed(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrColumnSelectorFailed")
