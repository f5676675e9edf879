"""What an ALTER TABLE does to a table, step by step: the shape that all its specs share.

One law: a spec is checked against the table before the statement, and applied to what the specs before it left
(TiDB: pkg/ddl/executor.go, AlterTable; pkg/ddl/multi_schema_change.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.evolve_errors import tidb, unsupported
from simulator.tidb.model.table import Column, Index, Table


@dataclass(frozen=True)
class Scene:
    """Where a statement happens."""

    catalog: Catalog
    table: Table
    """As it is before the statement."""

    text: str
    """The statement, which positions point into."""

    now: str
    """What CURRENT_TIMESTAMP(6) gives: `2020-02-20 02:20:20.123456`."""


@dataclass(frozen=True)
class Touched:
    """Names in lower case that a step adds, drops, changes or refers to."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    """Columns that others are put behind."""

    related: tuple[str, ...] = ()
    """Columns of new keys and of new generated columns."""

    added_keys: tuple[str, ...] = ()
    dropped_keys: tuple[str, ...] = ()
    altered_keys: tuple[str, ...] = ()
    foreign: tuple[tuple[str, ...], ...] = ()
    """Columns of new foreign keys."""


@dataclass(frozen=True)
class Step:
    action: int
    """TiDB's job type."""

    apply: Callable[[Table], Table]
    touched: Touched = Touched()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of columns by their old ones."""


TOGETHER = frozenset((
    actions.ADD_COLUMN, actions.DROP_COLUMN, actions.MODIFY_COLUMN, actions.SET_DEFAULT_VALUE, actions.ADD_INDEX,
    actions.DROP_INDEX, actions.RENAME_INDEX, actions.ALTER_INDEX_VISIBILITY, actions.ADD_PRIMARY_KEY,
    actions.DROP_PRIMARY_KEY, actions.ADD_FOREIGN_KEY, actions.REBASE_AUTO_ID, actions.MODIFY_TABLE_COMMENT,
    actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
))
"""The jobs that may stand beside others in one statement (TiDB: fillMultiSchemaInfo)."""


def check_together(steps: tuple[Step, ...], table: Table) -> None:
    """Raises DdlError where steps of one statement may not stand together."""
    for step in steps:
        if step.action not in TOGETHER:
            raise unsupported(f"multi schema change for {actions.ACTIONS[step.action].text}")
    check_same_columns(steps)
    check_same_keys(steps)
    gone = sum(len(step.touched.dropped) for step in steps)
    if len(table.columns) + sum(len(step.touched.added) for step in steps) <= gone:
        raise tidb("ddl:1090")


def check_same_columns(steps: tuple[Step, ...]) -> None:
    """No column is added, dropped or changed twice, nor named by another step (TiDB: checkOperateSameColAndIdx)."""
    seen: set[str] = set()
    for names in ("added", "dropped", "placed", "modified", "related"):
        for name in gathered(steps, names):
            if name in seen:
                raise unsupported(f"operate same column '{name}'")
            if names not in ("placed", "related"):
                seen.add(name)


def check_same_keys(steps: tuple[Step, ...]) -> None:
    """No key is added, dropped or altered twice."""
    seen: set[str] = set()
    for names in ("added_keys", "dropped_keys", "altered_keys"):
        for name in gathered(steps, names):
            if name in seen:
                raise unsupported(f"operate same index '{name}'")
            seen.add(name)


def gathered(steps: Iterable[Step], names: str) -> tuple[str, ...]:
    return tuple(name for step in steps for name in getattr(step.touched, names))


def column_named(table: Table, name: str) -> Column | None:
    """The column of that name, in any case."""
    wanted = name.lower()
    return next((column for column in table.columns if column.name.lower() == wanted), None)


def index_named(table: Table, name: str) -> Index | None:
    """The index of that name, in any case; columnar ones too."""
    wanted = name.lower()
    return next((one for one in (*table.indexes, *table.columnar_indexes) if one.name.lower() == wanted), None)


def lower(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def unchanged(table: Table) -> Table:
    return table
