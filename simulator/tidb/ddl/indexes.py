"""ALTER TABLE … ADD, DROP, RENAME and ALTER of keys and CHECKs, and so CREATE INDEX and DROP INDEX.

A new key gets the id after the highest that the table ever had; a renamed key keeps its id. Ids decide between equal
handle keys (TiDB: pkg/ddl/executor.go, pkg/ddl/index.go). Without tidb_enable_check_constraint, TiDB ignores every CHECK
(pkg/ddl/ddl_api.go, CreateCheckConstraint; since 7.2.0).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import (
    check_length,
    column_names,
    existing_column,
    find_column,
    find_index,
    last_index_id,
    lower_names,
    partitioning_columns,
    resolve_part,
)
from simulator.tidb.ddl.foreign_keys import add_foreign_key, check_key_not_needed, drop_foreign_key
from simulator.tidb.ddl.key_checks import (
    check_condition,
    check_condition_columns,
    check_name_is_free,
    check_parts,
    named_columns,
    with_checks,
)
from simulator.tidb.ddl.key_definitions import COLUMNAR_KINDS, build_index, free_names, numbered_names, with_not_null
from simulator.tidb.ddl.session import AffectedNames, Alteration, Session, SubJob, SubJobs
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import CheckConstraint, Index, Table, row_id_column

MAX_KEYS = 64

IGNORED_KINDS = {
    "fulltext": "The used table type doesn't support FULLTEXT indexes: no job",
    "spatial": "TiDB has no SPATIAL indexes: no job",
}

HYPOTHETICAL_NOTE = "a hypothetical index lives in its session alone: no job"


def add_key(spec: syntax.AddKey, alteration: Alteration) -> SubJobs:
    """Yield the sub-jobs of ADD KEY; none for FULLTEXT and SPATIAL, which TiDB ignores. Raises DdlError.

    A release of TiCDC that replicates full-text indexes implies a TiDB that has them.
    """
    kind = spec.key.kind
    if kind == "foreign":
        yield from add_foreign_key(spec.key, alteration)
    elif kind == "check":
        assert spec.key.check is not None
        yield from add_check(spec.key.check, alteration)
    elif kind == "fulltext" and Action.ADD_FULLTEXT_INDEX in alteration.session.release.allowed_ddl:
        yield SubJob(Action.ADD_COLUMNAR_INDEX)
    elif kind in IGNORED_KINDS:
        yield IGNORED_KINDS[kind]
    else:
        yield from (add_primary_key if kind == "primary" else add_index)(spec.key, alteration)


def add_index(key: syntax.KeyDefinition, alteration: Alteration) -> SubJobs:
    action = Action.ADD_COLUMNAR_INDEX if key.kind in COLUMNAR_KINDS else Action.ADD_INDEX
    name = key.name
    if alteration.target is not None:
        table = alteration.target.table
        if name.lower() == "primary":
            check_key_name(name)
        if name and find_index(table, name):
            if key.if_not_exists:
                yield f"Duplicate key name '{name}': no job"
                return
            raise tidb_error("ddl:1061", name)
        name = check_index(key, table, alteration.session)
    name = name or key.parts[0].column or "expression_index"
    if key.options.using.upper() == "HYPO":
        yield HYPOTHETICAL_NOTE
        return
    affected = AffectedNames(added_keys=(name.lower(),), related=related_columns(key))
    yield SubJob(action, lambda before: with_index(before, key, name), affected)


def check_index(key: syntax.KeyDefinition, table: Table, session: Session) -> str:
    """Check an index; return its name, which for an unnamed one is TiDB's. Raises DdlError."""
    check_key_name(key.name)
    if len(table.indexes) >= MAX_KEYS:
        raise tidb_error("ddl:1069", MAX_KEYS)
    name = key.name or anonymous_name(key, table)
    check_parts(key, table, name)
    check_partitioned(key, name, table, session)
    return name


def anonymous_name(key: syntax.KeyDefinition, table: Table) -> str:
    """Return TiDB's name for an added key: its first column or `expression_index`, numbered from 2 if it is taken
    (getAnonymousIndex)."""
    part = key.parts[0]
    column = find_column(table, part.column) if part.column else None
    stem = column.name if column else "expression_index"
    return next(name for name in numbered_names(stem) if find_index(table, name) is None)


def check_key_name(name: str) -> None:
    check_length(name)
    if name.lower() == "primary":
        raise error_with_text("ddl:1280", f"Incorrect index name '{name}'")


def related_columns(key: syntax.KeyDefinition) -> tuple[str, ...]:
    """Return the columns of a key, including those in its expressions."""
    named = {part.column.lower() for part in key.parts if part.column}
    return tuple(sorted(named.union(*(column_names(part.expression) for part in key.parts if part.expression))))


def add_primary_key(key: syntax.KeyDefinition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of a nonclustered primary key, whose columns become NOT NULL. Raises DdlError."""
    if alteration.target is not None:
        check_primary_key(key, alteration.target.table, alteration.session)
    affected = AffectedNames(added_keys=("primary",), related=related_columns(key))
    yield SubJob(Action.ADD_PRIMARY_KEY, lambda before: with_primary_key(before, key), affected)


def check_primary_key(key: syntax.KeyDefinition, table: Table, session: Session) -> None:
    if key.options.visible is False:
        raise tidb_error("ddl:3522")
    if key.options.clustered:
        raise error_with_text(
            "ddl:8200",
            "Adding clustered primary key is not supported. Please consider adding NONCLUSTERED primary key instead",
        )
    if table.primary_key:
        raise tidb_error("schema:1068")
    if any(part.expression for part in key.parts):
        raise tidb_error("ddl:3756")
    check_parts(key, table)
    columns = [find_column(table, part.column) for part in key.parts]
    if any(column and column.generated == "virtual" for column in columns):
        raise tidb_error("ddl:3106", "Defining a virtual generated column as primary key")
    check_partitioned(key, "PRIMARY", table, session)


def with_primary_key(table: Table, key: syntax.KeyDefinition) -> Table:
    changed = with_index(table, key, "PRIMARY")
    names = tuple(part.name for part in changed.indexes[-1].columns)
    return replace(changed, columns=with_not_null(changed.columns, names), primary_key=names, clustered=False)


def with_index(table: Table, key: syntax.KeyDefinition, name: str) -> Table:
    """Return the table with one more index, which gets the next id."""
    last = last_index_id(table)
    index = build_index(key, tuple(resolve_part(part, table) for part in key.parts), last + 1, name)
    ids = replace(table.last_ids, index=index.id)
    if key.kind in COLUMNAR_KINDS:
        return replace(table, columnar_indexes=(*table.columnar_indexes, index), last_ids=ids)
    return replace(table, indexes=(*table.indexes, index), last_ids=ids)


def check_partitioned(key: syntax.KeyDefinition, name: str, table: Table, session: Session) -> None:
    """Raise DdlError for a unique key that is not GLOBAL and lacks a partitioning column."""
    if key.kind not in ("primary", "unique"):
        return
    if key.options.scope == "GLOBAL" and table.partitioning is None:
        raise unsupported_error("Global Index on non-partitioned table")
    whole = {part.column.lower() for part in key.parts if part.length < 0}
    missing = partitioning_columns(table.partitioning) - whole
    if missing and not session.release.global_indexes:
        raise tidb_error("ddl:1503", "PRIMARY" if key.kind == "primary" else "UNIQUE INDEX")
    if missing and key.options.scope != "GLOBAL":
        raise tidb_error("ddl:8264", name)


def drop_key(spec: syntax.DropKey, alteration: Alteration) -> SubJobs:
    """Return the sub-jobs of DROP for an index, the primary key, a foreign key or a CHECK. Raises DdlError."""
    if spec.kind == "check":
        return change_check(Action.DROP_CHECK_CONSTRAINT, spec.name, None, alteration)
    if spec.kind == "foreign":
        return drop_foreign_key(spec, alteration)
    return drop_index("PRIMARY" if spec.kind == "primary" else spec.name, spec.if_exists, alteration)


def drop_index(name: str, if_exists: bool, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of DROP INDEX (TiDB: dropIndex, CheckIsDropPrimaryKey)."""
    target, affected = alteration.target, AffectedNames(dropped_keys=(name.lower(),))
    index = find_index(target.table, name) if target else None
    primary = name.lower() == "primary" and (index is None or index.primary)
    action = Action.DROP_PRIMARY_KEY if primary else Action.DROP_INDEX
    if target is None:
        yield SubJob(action, affected=affected)
        return
    table = target.table
    if primary and not table.primary_key:
        raise tidb_error("ddl:1091", "PRIMARY")
    if primary and table.clustered:
        raise unsupported_error("drop primary key when the table is using clustered index")
    if index is None:
        if if_exists:
            yield f"Can't DROP '{name}'; check that column/key exists: no job"
            return
        raise error_with_text("ddl:1091", f"index {name} doesn't exist")
    check_key_not_needed(index, target)
    id = index.id
    yield SubJob(action, lambda before: without_index(before, id, primary), affected)


def without_index(table: Table, id: int, primary: bool) -> Table:
    return replace(
        table,
        indexes=tuple(index for index in table.indexes if index.id != id),
        columnar_indexes=tuple(index for index in table.columnar_indexes if index.id != id),
        primary_key=() if primary else table.primary_key,
        clustered=table.clustered and not primary,
    )


def rename_index(spec: syntax.RenameIndex, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of RENAME INDEX, which may change case only (TiDB: ValidateRenameIndex)."""
    target = alteration.target
    index = find_index(target.table, spec.old) if target else None
    if target is not None and index is None:
        raise tidb_error("schema:1176", spec.old, target.table.name)
    if spec.old == spec.new:
        yield "the index has that name: no job"
        return
    other = find_index(target.table, spec.new) if target else None
    if other and spec.old.lower() != spec.new.lower():
        raise tidb_error("schema:1061", other.name)
    id = index.id if index else 0
    affected = AffectedNames(added_keys=(spec.new.lower(),), dropped_keys=(spec.old.lower(),))
    yield SubJob(Action.RENAME_INDEX, lambda before: with_changed_index(before, id, spec.old, spec.new, None), affected)


def alter_visibility(spec: syntax.IndexVisibility, alteration: Alteration) -> SubJobs:
    affected = AffectedNames(altered_keys=(spec.name.lower(),))
    if alteration.target is None:
        yield SubJob(Action.ALTER_INDEX_VISIBILITY, affected=affected)
        return
    table = alteration.target.table
    index = find_index(table, spec.name)
    if index is None and (spec.name.lower() != "primary" or not table.primary_key):
        raise tidb_error("schema:1176", spec.name, table.name)
    if (index is None or index.primary) and not spec.visible:
        raise tidb_error("ddl:3522")
    if index is None or index.visible == spec.visible:
        yield f"index '{index.name if index else 'PRIMARY'}' is {'' if spec.visible else 'in'}visible already: no job"
        return
    id = index.id
    action = Action.ALTER_INDEX_VISIBILITY
    yield SubJob(action, lambda before: with_changed_index(before, id, spec.name, "", spec.visible), affected)


def check_visible_primary(table: Table) -> None:
    """Raise DdlError if the index of the primary key is invisible, or without one the first unique index of NOT NULL
    columns (TiDB: checkInvisibleIndexOnPK, GetPrimaryKey)."""
    filled = {column.name for column in table.columns if column.not_null}
    unique = (each for each in table.indexes if each.unique and filled.issuperset(part.name for part in each.columns))
    primary = next((each for each in table.indexes if each.primary), None) or next(unique, None)
    if primary is not None and not primary.visible and row_id_column(table) is None:
        raise tidb_error("ddl:3522")


def with_changed_index(table: Table, id: int, old: str, name: str, visible: bool | None) -> Table:
    """Return the table with an index renamed, or its visibility changed. Raises DdlError if it is dropped by now."""
    if not any(index.id == id for index in (*table.indexes, *table.columnar_indexes)):
        raise tidb_error("schema:1176", old, table.name)

    def changed(index: Index) -> Index:
        if index.id != id:
            return index
        new = name or index.name
        parts = tuple(
            replace(part, name=f"_V$_{new}_{place}") if part.expression else part
            for place, part in enumerate(index.columns)
        )
        return replace(index, name=new, columns=parts, visible=index.visible if visible is None else visible)

    indexes, columnar = (tuple(map(changed, indexes)) for indexes in (table.indexes, table.columnar_indexes))
    return replace(table, indexes=indexes, columnar_indexes=columnar)


# -- CHECK constraints -------------------------------------------------------------------------------------------------


CHECK_IS_OFF = (
    "CHECK is a job with tidb_enable_check_constraint alone, and then error 8200 among other clauses; while that is "
    "off, as by default, TiDB forgets it"
)


def sub_jobs_without_variable(action: int, session: Session) -> SubJobs:
    """Yield a job that changes no table if the variable is unknown, and no job if it is off."""
    yield CHECK_IS_OFF
    if session.check_constraints is None:
        yield SubJob(action)


def add_check(check: syntax.CheckDefinition, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of ADD CHECK, with the first free name for an unnamed one. Raises DdlError."""
    target = alteration.target
    if target is None or not alteration.session.check_constraints:
        yield from sub_jobs_without_variable(Action.ADD_CHECK_CONSTRAINT, alteration.session)
        return
    table = target.table
    names = {other.name.lower() for other in table.checks}
    if check.name.lower() in names:
        raise tidb_error("ddl:3822", check.name.lower())
    name = check.name or next(free_names(table.name, names))
    tree = parse_expression(check.condition.text)
    check_condition(name, tree)
    for named in named_columns(tree):
        existing_column(table, named, tidb_error("ddl:1054", named, f"check constraint {name} expression"))
    check_condition_columns(name, tree, named_columns(tree), table)
    check_name_is_free(name, table, target.catalog)
    constraint = CheckConstraint(name, check.condition.text, check.enforced)
    yield SubJob(Action.ADD_CHECK_CONSTRAINT, lambda before: with_checks(before, (*before.checks, constraint)))


def alter_check(spec: syntax.AlterCheck, alteration: Alteration) -> SubJobs:
    return change_check(Action.ALTER_CHECK_CONSTRAINT, spec.name, spec.enforced, alteration)


def change_check(action: Action, name: str, enforced: bool | None, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of a CHECK that is enforced or not, or dropped (None). Raises DdlError for an unknown one."""
    target, lowered = alteration.target, name.lower()
    if target is None or not alteration.session.check_constraints:
        yield from sub_jobs_without_variable(action, alteration.session)
        return
    if lowered not in lower_names(check.name for check in target.table.checks):
        raise tidb_error("ddl:3940", name)

    def apply(before: Table) -> Table:
        checks = before.checks
        if enforced is None:
            checks = tuple(check for check in checks if check.name.lower() != lowered)
        else:
            checks = tuple(
                replace(each, enforced=enforced) if each.name.lower() == lowered else each for each in checks
            )
        return with_checks(before, checks)

    yield SubJob(action, apply)
