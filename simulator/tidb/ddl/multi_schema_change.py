"""Which sub-jobs one ALTER TABLE may combine: no two that affect the same column or key.

Source: TiDB: pkg/ddl/multi_schema_change.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.alteration import SubJob
from simulator.tidb.ddl.expressions.columns import column_names
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Table

MULTI_SCHEMA_ACTIONS = frozenset(
    {
        Action.ADD_COLUMN,
        Action.DROP_COLUMN,
        Action.MODIFY_COLUMN,
        Action.SET_DEFAULT_VALUE,
        Action.ADD_INDEX,
        Action.DROP_INDEX,
        Action.RENAME_INDEX,
        Action.ALTER_INDEX_VISIBILITY,
        Action.ADD_PRIMARY_KEY,
        Action.DROP_PRIMARY_KEY,
        Action.ADD_FOREIGN_KEY,
        Action.REBASE_AUTO_ID,
        Action.MODIFY_TABLE_COMMENT,
        Action.MODIFY_TABLE_CHARSET_AND_COLLATE,
    }
)
"""Job types that may be part of a multi-schema change (fillMultiSchemaInfo)."""

CHECK_ACTIONS = frozenset({Action.ADD_CHECK_CONSTRAINT, Action.DROP_CHECK_CONSTRAINT, Action.ALTER_CHECK_CONSTRAINT})
"""Job types that need tidb_enable_check_constraint, which is off by default."""

ACTIONS_BEFORE_6_2 = {
    syntax.AddColumns: Action.ADD_COLUMNS,
    syntax.DropColumn: Action.DROP_COLUMNS,
    syntax.DropKey: Action.DROP_INDEXES,
}
"""TiDB up to 6.1 combines several specs of one of these kinds to one job, and nothing else."""

COLUMN_KEY_KINDS = frozenset({"key", "unique", "primary", "foreign", "vector", "columnar"})


def action_before_6_2(specs: Sequence[syntax.Spec]) -> Action:
    """Return the job type of several specs in a release without multi-schema change. Raises DdlError."""
    kinds = {type(spec) for spec in specs}
    code = ACTIONS_BEFORE_6_2.get(next(iter(kinds))) if len(kinds) == 1 else None
    constraints = any(isinstance(spec, syntax.AddColumns) and spec.keys for spec in specs)
    others = any(isinstance(spec, syntax.DropKey) and spec.kind not in ("index", "primary") for spec in specs)
    if code is None or constraints or others:
        raise unsupported_error("multi schema change")
    return code


def check_new_columns(specs: Sequence[syntax.Spec], sub_jobs: Sequence[SubJob]) -> None:
    """Raise DdlError for a key on a column that the same statement adds, in a session without a catalog.

    Keys inside the parentheses of ADD COLUMN (…) are not checked.
    """
    new = set(collect_names(sub_jobs, "added")).difference(
        collect_names(sub_jobs, "dropped"), collect_names(sub_jobs, "modified")
    )
    for spec in specs:
        if isinstance(spec, syntax.AddKey) and spec.key.kind in COLUMN_KEY_KINDS:
            check_key(spec.key, new)


def check_key(key: syntax.KeyDefinition, new: set[str]) -> None:
    for part in key.parts:
        if part.column.lower() in new:
            if key.kind == "foreign":
                raise tidb_error("ddl:1072", part.column)
            raise error_with_text("ddl:1072", f"column does not exist: {part.column}")
        if part.expression and (names := sorted(column_names(part.expression) & new)):
            raise tidb_error("ddl:1054", names[0], "expression")


def check_allowed_together(sub_job: SubJob) -> None:
    if sub_job.action not in MULTI_SCHEMA_ACTIONS:
        raise unsupported_error(f"multi schema change for {Action(sub_job.action).text}")


def check_conflicts(sub_jobs: Sequence[SubJob], table: Table | None) -> None:
    """Raise DdlError for conflicting sub-jobs. The table is None in a session without a catalog."""
    check_same_columns(sub_jobs, table)
    check_same_keys(sub_jobs)
    dropped = sum(len(sub_job.affected.dropped) for sub_job in sub_jobs)
    if table and len(table.columns) + sum(len(sub_job.affected.added) for sub_job in sub_jobs) <= dropped:
        raise tidb_error("ddl:1090")


def check_same_columns(sub_jobs: Sequence[SubJob], table: Table | None) -> None:
    """Raise DdlError if two sub-jobs affect one column (TiDB: checkOperateSameColAndIdx).

    Without a catalog, a key inside ADD COLUMN (…) may refer to added columns, as in `check_new_columns`.
    """
    seen: set[str] = set()
    for names in ("added", "dropped", "placed", "modified", "related"):
        passed = set(collect_names(sub_jobs, "added")) if names == "related" and table is None else set()
        for name in collect_names(sub_jobs, names):
            if name in seen - passed:
                raise unsupported_error(f"operate same column '{name}'")
            if names not in ("placed", "related"):
                seen.add(name)


def check_same_keys(sub_jobs: Sequence[SubJob]) -> None:
    seen: set[str] = set()
    for names in ("added_keys", "dropped_keys", "altered_keys"):
        for name in collect_names(sub_jobs, names):
            if name in seen:
                raise unsupported_error(f"operate same index '{name}'")
            seen.add(name)


def collect_names(sub_jobs: Iterable[SubJob], names: str) -> tuple[str, ...]:
    return tuple(name for sub_job in sub_jobs for name in getattr(sub_job.affected, names))
