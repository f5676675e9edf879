"""What an ALTER TABLE does to a table, step by step, and which steps one statement may have together.

One law: a spec is checked against the table before the statement, and applied to what the specs before it left; several
specs touch no column and no key twice (TiDB: pkg/ddl/executor.go, AlterTable; pkg/ddl/multi_schema_change.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.expressions.columns import column_names
from simulator.tidb.ddl.session import Session
from simulator.tidb.ddl.tidb_errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Column, Index, Table
from simulator.tidb.syntax.alter import AddColumns, AddKey, DropColumn, DropKey, Spec
from simulator.tidb.syntax.definitions import KeyDefinition, TableName


@dataclass(frozen=True)
class TargetTable:
    """A table that a statement is about, as it is before the statement."""

    catalog: Catalog
    table: Table
    text: str
    """The statement, which positions point into."""

    now: str = ""
    """As a session has it."""


@dataclass(frozen=True)
class Alteration:
    """What the specs of an ALTER TABLE are carried out on."""

    session: Session
    name: TableName
    """The table's, with its database."""

    target: TargetTable | None
    """None where the session has no catalog."""


def unchanged(table: Table) -> Table:
    return table


@dataclass(frozen=True)
class AffectedNames:
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


@dataclass(frozen=True)
class SubJob:
    """What is a job, or together with others a part of one."""

    action: int
    """TiDB's job type."""

    apply: Callable[[Table], Table] = unchanged
    affected: AffectedNames = AffectedNames()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of columns by their old ones."""


SubJobs = Iterator[SubJob | str]
"""The steps of a spec, and notes on what TiDB takes and makes no job of."""


def find_column(table: Table, name: str) -> Column | None:
    """The column of that name, in any case."""
    wanted = name.lower()
    return next((column for column in table.columns if column.name.lower() == wanted), None)


def find_index(table: Table, name: str) -> Index | None:
    """The index of that name, in any case; columnar ones too."""
    wanted = name.lower()
    return next((index for index in (*table.indexes, *table.columnar_indexes) if index.name.lower() == wanted), None)


def lower_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


MULTI_SCHEMA_ACTIONS = frozenset(
    {
        actions.ADD_COLUMN,
        actions.DROP_COLUMN,
        actions.MODIFY_COLUMN,
        actions.SET_DEFAULT_VALUE,
        actions.ADD_INDEX,
        actions.DROP_INDEX,
        actions.RENAME_INDEX,
        actions.ALTER_INDEX_VISIBILITY,
        actions.ADD_PRIMARY_KEY,
        actions.DROP_PRIMARY_KEY,
        actions.ADD_FOREIGN_KEY,
        actions.REBASE_AUTO_ID,
        actions.MODIFY_TABLE_COMMENT,
        actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
    }
)
"""What may be a part of a multi-schema change (fillMultiSchemaInfo)."""

CHECK_ACTIONS = frozenset({actions.ADD_CHECK_CONSTRAINT, actions.DROP_CHECK_CONSTRAINT, actions.ALTER_CHECK_CONSTRAINT})
"""What is no job while tidb_enable_check_constraint is off, as it is by default."""

ACTIONS_BEFORE_6_2 = {AddColumns: actions.ADD_COLUMNS, DropColumn: actions.DROP_COLUMNS, DropKey: actions.DROP_INDEXES}
"""TiDB up to 6.1: several specs of one of these kinds are one job, and nothing else goes together."""

COLUMN_KEY_KINDS = frozenset({"key", "unique", "primary", "foreign", "vector", "columnar"})


def action_before_6_2(specs: Sequence[Spec]) -> int:
    """The code of several specs of one kind; raises DdlError for others (release without multi-schema change)."""
    kinds = {type(spec) for spec in specs}
    code = ACTIONS_BEFORE_6_2.get(next(iter(kinds))) if len(kinds) == 1 else None
    constraints = any(isinstance(spec, AddColumns) and spec.keys for spec in specs)
    others = any(isinstance(spec, DropKey) and spec.kind not in ("index", "primary") for spec in specs)
    if code is None or constraints or others:
        raise unsupported_error("multi schema change")
    return code


def check_new_columns(specs: Sequence[Spec], steps: Sequence[SubJob]) -> None:
    """Raises DdlError for a key on a column that the statement itself adds to a table that is not known: a spec sees
    the table as it is. Of keys inside the parentheses of ADD COLUMN (…) nothing is said."""
    new = set(collect_names(steps, "added")) - {*collect_names(steps, "dropped"), *collect_names(steps, "modified")}
    for spec in specs:
        if isinstance(spec, AddKey) and spec.key.kind in COLUMN_KEY_KINDS:
            check_key(spec.key, new)


def check_key(key: KeyDefinition, new: set[str]) -> None:
    for part in key.parts:
        if part.column.lower() in new:
            foreign = key.kind == "foreign"
            raise (
                tidb_error("ddl:1072", part.column)
                if foreign
                else error_with_text("ddl:1072", f"column does not exist: {part.column}")
            )
        if part.expression and (names := sorted(column_names(part.expression) & new)):
            raise tidb_error("ddl:1054", names[0], "expression")


def check_allowed_together(step: SubJob) -> None:
    """Raises DdlError for what is never a part of a multi-schema change."""
    if step.action not in MULTI_SCHEMA_ACTIONS:
        raise unsupported_error(f"multi schema change for {actions.ACTIONS[step.action].text}")


def check_conflicts(steps: Sequence[SubJob], table: Table | None) -> None:
    """Raises DdlError where steps of one statement may not stand together; a table of None is not known."""
    check_same_columns(steps, table)
    check_same_keys(steps)
    gone = sum(len(step.affected.dropped) for step in steps)
    if table and len(table.columns) + sum(len(step.affected.added) for step in steps) <= gone:
        raise tidb_error("ddl:1090")


def check_same_columns(steps: Sequence[SubJob], table: Table | None) -> None:
    """No column is added, dropped or changed twice, nor named by another step (TiDB: checkOperateSameColAndIdx).

    What `check_new_columns` lets through, a key inside ADD COLUMN (…) of a table that is not known, is taken.
    """
    seen: set[str] = set()
    for names in ("added", "dropped", "placed", "modified", "related"):
        passed = set(collect_names(steps, "added")) if names == "related" and table is None else set()
        for name in collect_names(steps, names):
            if name in seen - passed:
                raise unsupported_error(f"operate same column '{name}'")
            if names not in ("placed", "related"):
                seen.add(name)


def check_same_keys(steps: Sequence[SubJob]) -> None:
    """No key is added, dropped or altered twice."""
    seen: set[str] = set()
    for names in ("added_keys", "dropped_keys", "altered_keys"):
        for name in collect_names(steps, names):
            if name in seen:
                raise unsupported_error(f"operate same index '{name}'")
            seen.add(name)


def collect_names(steps: Iterable[SubJob], names: str) -> tuple[str, ...]:
    return tuple(name for step in steps for name in getattr(step.affected, names))
