"""ALTER TABLE of several specs as one job, and what TiDB does not take together.

One law: no column and no index is touched twice. Source: tidb pkg/ddl/multi_schema_change.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from simulator.errors import DdlError
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_expressions import columns_of
from simulator.tidb.ddl.jobs_keys import KINDS, index_name
from simulator.tidb.ddl.jobs_shape import unsupported
from simulator.tidb.model.table import Table
from simulator.tidb.syntax.alter import (
    AddColumns,
    AddKey,
    AlterDefault,
    ChangeColumn,
    DropColumn,
    DropKey,
    IndexVisibility,
    ModifyColumn,
    RenameColumn,
    RenameIndex,
    Spec,
)
from simulator.tidb.syntax.definitions import KeySyntax

SUB_JOBS = frozenset({
    actions.ADD_COLUMN, actions.DROP_COLUMN, actions.ADD_INDEX, actions.DROP_INDEX, actions.ADD_PRIMARY_KEY,
    actions.DROP_PRIMARY_KEY, actions.ADD_FOREIGN_KEY, actions.RENAME_INDEX, actions.MODIFY_COLUMN,
    actions.SET_DEFAULT_VALUE, actions.ALTER_INDEX_VISIBILITY, actions.REBASE_AUTO_ID, actions.MODIFY_TABLE_COMMENT,
    actions.MODIFY_TABLE_CHARSET_AND_COLLATE,
})
"""What may be a part of a multi-schema change (fillMultiSchemaInfo)."""

CHECKS = frozenset({
    actions.ADD_CHECK_CONSTRAINT, actions.DROP_CHECK_CONSTRAINT, actions.ALTER_CHECK_CONSTRAINT,
})
"""What is no job while tidb_enable_check_constraint is off, as it is by default."""

BEFORE = {AddColumns: actions.ADD_COLUMNS, DropColumn: actions.DROP_COLUMNS, DropKey: actions.DROP_INDEXES}
"""TiDB up to 6.1: several specs of one of these kinds are one job, and nothing else goes together."""


@dataclass
class Touched:
    """Names that the sub-jobs touch, by what they do to them."""

    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    indexed: list[str] = field(default_factory=list)
    """Columns of new indexes."""

    added_indexes: list[str] = field(default_factory=list)
    dropped_indexes: list[str] = field(default_factory=list)
    altered_indexes: list[str] = field(default_factory=list)


def several_before(specs: Sequence[Spec]) -> int:
    """The code of several specs of one kind; raises DdlError for others (release without multi-schema change)."""
    kinds = {type(spec) for spec in specs}
    code = BEFORE.get(next(iter(kinds))) if len(kinds) == 1 else None
    constraints = any(isinstance(spec, AddColumns) and spec.keys for spec in specs)
    others = any(isinstance(spec, DropKey) and spec.kind not in ("index", "primary") for spec in specs)
    if code is None or constraints or others:
        raise unsupported("multi schema change")
    return code


def check_sub_job(code: int) -> None:
    """Raises DdlError for a job that cannot be part of a multi-schema change."""
    if code not in SUB_JOBS:
        raise unsupported(f"multi schema change for {actions.ACTIONS[code].text}")


def check_columns(specs: Sequence[Spec], table: Table | None) -> None:
    """Raises DdlError for a key on a column that the statement itself adds: a clause sees the table as it is.

    Where the table is not known, nothing is said of keys inside the parentheses of ADD COLUMN (…).
    """
    touched = Touched()
    for spec in specs:
        _touch(spec, touched, table)
    there = [column.name for column in table.columns] if table else [*touched.dropped, *touched.modified]
    new = frozenset(_folded(touched.added)) - frozenset(_folded(there))
    keys = [spec.key for spec in specs if isinstance(spec, AddKey)]
    keys += [key for spec in specs if table and isinstance(spec, AddColumns) for key in spec.keys]
    for key in keys:
        if key.kind in KINDS:
            _check_key(key, new)


def _check_key(key: KeySyntax, new: frozenset[str]) -> None:
    for part in key.parts:
        if part.column.lower() in new:
            text = f"Key column '{part.column}' doesn't exist in table"
            raise DdlError(text if key.kind == "foreign" else f"column does not exist: {part.column}", "ddl:1072")
        if part.expression and (names := sorted(columns_of(part.expression) & new)):
            raise DdlError(f"Unknown column '{names[0]}' in 'generated column function'", "ddl:1054")


def check_touched(specs: Iterable[Spec], table: Table | None) -> None:
    """Raises DdlError where a column or an index is touched twice (checkOperateSameColAndIdx).

    What `check_columns` lets through, an index inside ADD COLUMN (…) of a table that is not known, is taken.
    """
    touched = Touched()
    for spec in specs:
        _touch(spec, touched, table)
    added = _once("column", touched.added, frozenset())
    columns = _once("column", touched.dropped, added)
    _none("column", touched.after, columns)
    columns = _once("column", touched.modified, columns)
    _none("column", touched.indexed, columns if table else columns - added)
    indexes = _once("index", touched.added_indexes, frozenset())
    indexes = _once("index", touched.dropped_indexes, indexes)
    _once("index", touched.altered_indexes, indexes)


def _touch(spec: Spec, to: Touched, table: Table | None) -> None:
    place = getattr(spec, "place", None)
    if place is not None and place.after:
        to.after.append(place.after)
    match spec:
        case AddColumns():
            to.added += [column.name for column in spec.columns if not _may_be_there(column.name, spec, table)]
        case DropColumn():
            to.dropped.append(spec.name)
        case ModifyColumn():
            to.modified.append(spec.column.name)
        case ChangeColumn():
            _renamed(spec.old, spec.column.name, to)
        case RenameColumn():
            _renamed(spec.old, spec.new, to)
        case AlterDefault():
            to.modified.append(spec.column)
        case _:
            _touch_index(spec, to, table)


def _may_be_there(name: str, spec: AddColumns, table: Table | None) -> bool:
    """Whether IF NOT EXISTS finds the column, or perhaps does."""
    return spec.if_not_exists and (table is None or name.lower() in _folded(column.name for column in table.columns))


def _touch_index(spec: Spec, to: Touched, table: Table | None) -> None:
    match spec:
        case AddKey() if spec.key.kind in ("key", "unique", "primary"):
            to.added_indexes.append(index_name(spec.key, table))
            to.indexed += [part.column for part in spec.key.parts if part.column]
        case DropKey() if spec.kind in ("index", "primary"):
            to.dropped_indexes.append(spec.name or "PRIMARY")
        case RenameIndex():
            to.added_indexes.append(spec.new)
            to.dropped_indexes.append(spec.old)
        case IndexVisibility():
            to.altered_indexes.append(spec.name)


def _renamed(old: str, new: str, to: Touched) -> None:
    if old.lower() == new.lower():
        to.modified.append(new)
    else:
        to.added.append(new)
        to.dropped.append(old)


def _once(what: str, names: Iterable[str], before: frozenset[str]) -> frozenset[str]:
    """All names together; raises DdlError for one that comes again."""
    for name in _folded(names):
        if name in before:
            raise unsupported(f"operate same {what} '{name}'")
        before |= {name}
    return before


def _none(what: str, names: Iterable[str], of: frozenset[str]) -> None:
    for name in _folded(names):
        if name in of:
            raise unsupported(f"operate same {what} '{name}'")


def _folded(names: Iterable[str]) -> Iterator[str]:
    return (name.lower() for name in names)
