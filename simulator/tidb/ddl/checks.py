"""CHECK constraints in CREATE TABLE and ALTER TABLE: names, conditions and jobs.

Without tidb_enable_check_constraint, TiDB ignores every CHECK (tidb pkg/ddl/ddl_api.go, CreateCheckConstraint;
pkg/ddl/constraint.go; pkg/table/constraint.go; since 7.2.0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Catalog, check_length, existing_column, lower_names
from simulator.tidb.ddl.expressions import parse_or_none
from simulator.tidb.ddl.key_definitions import free_names, name_checks
from simulator.tidb.ddl.session import Alteration, Session, SubJob, SubJobs
from simulator.tidb.errors import error_with_text, tidb_error
from simulator.tidb.model.table import CheckConstraint, Table

CHECK_IS_OFF = (
    "CHECK is a job with tidb_enable_check_constraint alone, and then error 8200 among other clauses; while that is "
    "off, as by default, TiDB forgets it"
)

FORBIDDEN_FUNCTIONS = frozenset(
    "NOW CURRENT_TIMESTAMP CURDATE CURRENT_DATE CURTIME CURRENT_TIME LOCALTIME LOCALTIMESTAMP UNIX_TIMESTAMP UTC_DATE"
    " UTC_TIMESTAMP UTC_TIME CONNECTION_ID CURRENT_USER SESSION_USER VERSION FOUND_ROWS LAST_INSERT_ID SYSTEM_USER USER"
    " RAND ROW_COUNT GET_LOCK IS_FREE_LOCK IS_USED_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS LOAD_FILE UUID UUID_SHORT SLEEP"
    " DEFAULT".split()
)
SUBQUERIES = ("a subquery", "the rows of a subquery", "EXISTS", "NOT EXISTS")
BOOLEAN_OPERATORS = frozenset(("=", "!=", "<=>", "<", "<=", ">", ">=", "AND", "OR", "XOR"))
BOOLEAN_FUNCTIONS = frozenset(
    ("ISNULL", "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6", "JSON_VALID", "REGEXP_LIKE")
)
NOT_PLANNED = "node '*ast.{}' is not allowed when building an expression without planner"


def copy_checks(table: Table, name: str) -> tuple[CheckConstraint, ...]:
    """Return the CHECKs of a table with the names that they have in its copy (TiDB: renameCheckConstraint)."""
    return tuple(replace(check, name=free) for check, free in zip(table.checks, free_names(name, set())))


def check_new_checks(definition: syntax.CreateTable, table: Table) -> None:
    """Raise DdlError for an invalid CHECK in CREATE TABLE (BuildTableInfo)."""
    for name, check, column in name_checks(definition):
        tree = parse_or_none(check.condition.text)
        if tree is None:
            continue
        check_condition(name, tree)
        names = column_names(tree)
        for named in names if not column else ():
            existing_column(table, named, tidb_error("ddl:3820", name, named))
        if column and not names and not (isinstance(tree, syntax.Literal) and tree.kind == "boolean"):
            raise error_with_text("ddl:1105", "unsupported expression in check constraint")
        if column and names and names != [column.lower()]:
            raise tidb_error("ddl:3813", name)
        check_columns(name, tree, names, table)


def check_condition(name: str, tree: syntax.Node) -> None:
    """Raise DdlError for the first part of a condition that TiDB does not allow in a CHECK (IsSupportedExpr)."""
    for node in syntax.walk(tree):
        match node:
            case syntax.Call(function) if function in FORBIDDEN_FUNCTIONS:
                raise tidb_error("ddl:3814", name, function.lower())
            case syntax.DefaultValue():
                raise tidb_error("ddl:3814", name, "default")
            case syntax.ContextExpression(kind="a variable"):
                raise tidb_error("ddl:3816", name)
            case syntax.ContextExpression(kind=kind) if kind in SUBQUERIES:
                raise tidb_error("ddl:3815", name)


def check_columns(name: str, tree: syntax.Node, names: Sequence[str], table: Table) -> None:
    """Check the columns, the name and the type of a condition in TiDB's order. Raises DdlError."""
    columns = [column for column in table.columns if column.name.lower() in names]
    if any(column.auto_increment for column in columns):
        raise tidb_error("ddl:3818", name)
    for foreign in table.foreign_keys:
        for column in columns if foreign.on_delete or foreign.on_update else ():
            if column.name.lower() in lower_names(foreign.columns):
                raise tidb_error("ddl:3823", column.name.lower(), name)
    check_length(name)
    for node in syntax.walk(tree):
        if isinstance(node, syntax.InsertedValue):
            raise error_with_text("ddl:1105", NOT_PLANNED.format("ValuesExpr"))
        if isinstance(node, syntax.ContextExpression) and node.kind == "an aggregate function":
            raise error_with_text("ddl:1105", NOT_PLANNED.format("AggregateFuncExpr"))
    if not is_boolean(tree):
        raise tidb_error("ddl:3812", name)


def is_boolean(node: syntax.Node) -> bool:
    """Return whether TiDB considers an expression boolean (pkg/expression/function_traits.go, booleanFunctions)."""
    match node:
        case syntax.Parenthesised(inner):
            return is_boolean(inner)
        case syntax.Literal(kind):
            return kind == "boolean"
        case syntax.Unary(operator):
            return operator in ("NOT", "!")
        case syntax.Binary(operator):
            return operator in BOOLEAN_OPERATORS
        case syntax.PatternMatch(operator, negated=negated):
            return operator != "ILIKE" or negated
        case syntax.Call("NULLIF", (value, *_)):
            return is_boolean(value)
        case syntax.Call(name):
            return name in BOOLEAN_FUNCTIONS
    return isinstance(node, (syntax.Between, syntax.In, syntax.Is))


def column_names(node: syntax.Node) -> list[str]:
    return sorted({name.parts[-1].lower() for name in syntax.names_in(node)})


def check_name_is_free(name: str, table: Table, catalog: Catalog) -> None:
    """Raise DdlError if a table of the same database has a CHECK of that name (checkConstraintNamesNotExists)."""
    for other in catalog.tables.values():
        names = lower_names(check.name for check in other.checks)
        if other.schema.lower() == table.schema.lower() and name.lower() in names:
            raise tidb_error("ddl:3822", name.lower())


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


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
    if tree := parse_or_none(check.condition.text):
        check_condition(name, tree)
        for named in column_names(tree):
            existing_column(table, named, tidb_error("ddl:1054", named, f"check constraint {name} expression"))
        check_columns(name, tree, column_names(tree), table)
    check_name_is_free(name, table, target.catalog)
    constraint = CheckConstraint(name, check.condition.text, check.enforced)
    yield SubJob(Action.ADD_CHECK_CONSTRAINT, lambda before: with_checks(before, (*before.checks, constraint)))


def drop_check(name: str, alteration: Alteration) -> SubJobs:
    return change_check(Action.DROP_CHECK_CONSTRAINT, name, lambda check: (), alteration)


def alter_check(spec: syntax.AlterCheck, alteration: Alteration) -> SubJobs:
    def changed(check: CheckConstraint) -> tuple[CheckConstraint, ...]:
        return (replace(check, enforced=spec.enforced),)

    return change_check(Action.ALTER_CHECK_CONSTRAINT, spec.name, changed, alteration)


def change_check(
    action: Action, name: str, change: Callable[[CheckConstraint], tuple[CheckConstraint, ...]], alteration: Alteration
) -> SubJobs:
    """Yield the sub-job that replaces a CHECK. Raises DdlError for an unknown one."""
    target, lowered = alteration.target, name.lower()
    if target is None or not alteration.session.check_constraints:
        yield from sub_jobs_without_variable(action, alteration.session)
        return
    if lowered not in lower_names(check.name for check in target.table.checks):
        raise tidb_error("ddl:3940", name)

    def apply(before: Table) -> Table:
        changes = (change(check) if check.name.lower() == lowered else (check,) for check in before.checks)
        return with_checks(before, tuple(chain.from_iterable(changes)))

    yield SubJob(action, apply)


def with_checks(table: Table, checks: tuple[CheckConstraint, ...]) -> Table:
    """Return the table with CHECKs, without its statement, which does not have them."""
    return replace(table, checks=checks, statement="")


def check_not_constrained(name: str, table: Table, alone: bool) -> None:
    """Raise DdlError for a column that a CHECK names.

    With `alone`, a CHECK of this column alone counts, too (TiDB: IsColumnRenameableWithCheckConstraint,
    IsColumnDroppableWithCheckConstraint).
    """
    for check in table.checks:
        names = checked_columns(check)
        if name.lower() in names and (alone or len(names) > 1):
            raise tidb_error("ddl:3959", check.name, name)


def checked_columns(check: CheckConstraint) -> list[str]:
    tree = parse_or_none(check.expression)
    return column_names(tree) if tree is not None else []


def without_invalid_checks(table: Table) -> Table:
    """Return the table without CHECKs of dropped columns (TiDB: removeInvalidCheckConstraintsInfo)."""
    existing = {column.name.lower() for column in table.columns}
    checks = tuple(check for check in table.checks if existing.issuperset(checked_columns(check)))
    return table if len(checks) == len(table.checks) else with_checks(table, checks)
