"""CHECK constraints in CREATE TABLE and ALTER TABLE: their names, what TiDB takes as a condition, and their jobs.

A TiDB without tidb_enable_check_constraint forgets every CHECK that it reads (tidb pkg/ddl/ddl_api.go,
CreateCheckConstraint; pkg/ddl/constraint.go; pkg/table/constraint.go; since 7.2.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.alteration import Alteration, Step, Steps, column_named, lower
from simulator.tidb.ddl.catalog import LONGEST_NAME, Catalog
from simulator.tidb.ddl.definitions.checks import free_names, named_checks
from simulator.tidb.ddl.expressions.illegal_functions import tree_of, within
from simulator.tidb.ddl.session import Session
from simulator.tidb.ddl.tidb_errors import tidb, worded
from simulator.tidb.model.table import CheckConstraint, Table
from simulator.tidb.syntax.alter import AlterCheck
from simulator.tidb.syntax.definitions import CheckDefinition
from simulator.tidb.syntax.dml import DefaultValue, InsertedValue
from simulator.tidb.syntax.expressions import (
    Between,
    Binary,
    Call,
    ContextExpression,
    In,
    Is,
    Literal,
    Node,
    Parenthesised,
    PatternMatch,
    Unary,
    names_in,
)
from simulator.tidb.syntax.tables import CreateTable

CHECK_IS_OFF = (
    "CHECK is a job with tidb_enable_check_constraint alone, and then error 8200 among other clauses; while that is "
    "off, as by default, TiDB forgets it"
)

FORBIDDEN = frozenset(
    "NOW CURRENT_TIMESTAMP CURDATE CURRENT_DATE CURTIME CURRENT_TIME LOCALTIME LOCALTIMESTAMP UNIX_TIMESTAMP UTC_DATE"
    " UTC_TIMESTAMP UTC_TIME CONNECTION_ID CURRENT_USER SESSION_USER VERSION FOUND_ROWS LAST_INSERT_ID SYSTEM_USER USER"
    " RAND ROW_COUNT GET_LOCK IS_FREE_LOCK IS_USED_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS LOAD_FILE UUID UUID_SHORT SLEEP"
    " DEFAULT".split()
)
SUBQUERIES = ("a subquery", "the rows of a subquery", "EXISTS", "NOT EXISTS")
TRUTHS = frozenset(("=", "!=", "<=>", "<", "<=", ">", ">=", "AND", "OR", "XOR"))
TRUE_OR_FALSE = frozenset(
    ("ISNULL", "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6", "JSON_VALID", "REGEXP_LIKE")
)
NOT_PLANNED = "node '*ast.{}' is not allowed when building an expression without planner"


def copied_checks(table: Table, name: str) -> tuple[CheckConstraint, ...]:
    """Those of a table under the names that they have in its copy (TiDB: renameCheckConstraint)."""
    return tuple(replace(check, name=free) for check, free in zip(table.checks, free_names(name, set())))


def check_new_checks(syntax: CreateTable, table: Table) -> None:
    """Raises DdlError for a CHECK in CREATE TABLE that TiDB does not take (BuildTableInfo)."""
    for name, check, column in named_checks(syntax):
        tree = tree_of(check.condition.text)
        if tree is None:
            continue
        check_condition(name, tree)
        names = columns_in(tree)
        if column:
            check_own_column(name, tree, names, column.lower())
        else:
            for named in names:
                if column_named(table, named) is None:
                    raise tidb("ddl:3820", name, named)
        check_columns(name, tree, names, table)


def check_own_column(name: str, tree: Node, names: Sequence[str], column: str) -> None:
    """A column's own CHECK is about that column, or TRUE or FALSE."""
    if not names and not (isinstance(tree, Literal) and tree.kind == "boolean"):
        raise worded("ddl:1105", "unsupported expression in check constraint")
    if names and names != [column]:
        raise tidb("ddl:3813", name)


def check_condition(name: str, tree: Node) -> None:
    """Raises DdlError for the first thing in a condition that TiDB allows in no CHECK (IsSupportedExpr)."""
    for node in within(tree):
        if isinstance(node, Call) and node.name in FORBIDDEN:
            raise tidb("ddl:3814", name, node.name.lower())
        if isinstance(node, DefaultValue):
            raise tidb("ddl:3814", name, "default")
        if isinstance(node, ContextExpression) and node.kind == "a variable":
            raise tidb("ddl:3816", name)
        if isinstance(node, ContextExpression) and node.kind in SUBQUERIES:
            raise tidb("ddl:3815", name)


def check_columns(name: str, tree: Node, names: Sequence[str], table: Table) -> None:
    """What TiDB asks of the columns of a condition, of its name and its type, in its order."""
    columns = [column for column in table.columns if column.name.lower() in names]
    if any(column.auto_increment for column in columns):
        raise tidb("ddl:3818", name)
    for foreign in table.foreign_keys:
        for column in columns if foreign.on_delete or foreign.on_update else ():
            if column.name.lower() in lower(foreign.columns):
                raise tidb("ddl:3823", column.name.lower(), name)
    if len(name) > LONGEST_NAME:
        raise tidb("ddl:1059", name)
    for node in within(tree):
        if isinstance(node, InsertedValue):
            raise worded("ddl:1105", NOT_PLANNED.format("ValuesExpr"))
        if isinstance(node, ContextExpression) and node.kind == "an aggregate function":
            raise worded("ddl:1105", NOT_PLANNED.format("AggregateFuncExpr"))
    if not is_boolean(tree):
        raise tidb("ddl:3812", name)


def is_boolean(node: Node) -> bool:
    """Whether TiDB knows the value to be true or false (pkg/expression/function_traits.go, booleanFunctions)."""
    match node:
        case Parenthesised(inner):
            return is_boolean(inner)
        case Literal(kind):
            return kind == "boolean"
        case Unary(operator):
            return operator in ("NOT", "!")
        case Binary(operator):
            return operator in TRUTHS
        case PatternMatch(operator, negated=negated):
            return operator != "ILIKE" or negated
        case Call("NULLIF", (value, *_)):
            return is_boolean(value)
        case Call(name):
            return name in TRUE_OR_FALSE
    return isinstance(node, (Between, In, Is))


def columns_in(node: Node) -> list[str]:
    """Names in lower case, each once."""
    return sorted({name.parts[-1].lower() for name in names_in(node)})


def check_free(name: str, table: Table, catalog: Catalog) -> None:
    """Raises DdlError where a table of the same database has a CHECK of that name (checkConstraintNamesNotExists)."""
    for other in catalog.tables.values():
        if other.schema.lower() == table.schema.lower() and any(
            check.name.lower() == name.lower() for check in other.checks
        ):
            raise tidb("ddl:3822", name.lower())


# -- ALTER TABLE -------------------------------------------------------------------------------------------------------


def unknown_check(action: int, session: Session) -> Steps:
    """Where nobody knows the variable, a job that changes no table; while it is off, none."""
    yield CHECK_IS_OFF
    if session.check_constraints is None:
        yield Step(action)


def add_check(check: CheckDefinition, alteration: Alteration) -> Steps:
    """The CHECK under its name, or the first free one. Raises DdlError."""
    known = alteration.known
    if known is None or not alteration.session.check_constraints:
        yield from unknown_check(actions.ADD_CHECK_CONSTRAINT, alteration.session)
        return
    table = known.table
    taken = {other.name.lower() for other in table.checks}
    if check.name.lower() in taken:
        raise tidb("ddl:3822", check.name.lower())
    name = check.name or next(free_names(table.name, taken))
    tree = tree_of(check.condition.text)
    if tree is not None:
        check_condition(name, tree)
        for named in columns_in(tree):
            if column_named(table, named) is None:
                raise tidb("ddl:1054", named, f"check constraint {name} expression")
        check_columns(name, tree, columns_in(tree), table)
    check_free(name, table, known.catalog)
    made = CheckConstraint(name, check.condition.text, check.enforced)
    yield Step(actions.ADD_CHECK_CONSTRAINT, lambda before: with_checks(before, (*before.checks, made)))


def drop_check(name: str, alteration: Alteration) -> Steps:
    known = alteration.known
    if known is None or not alteration.session.check_constraints:
        yield from unknown_check(actions.DROP_CHECK_CONSTRAINT, alteration.session)
        return
    check_there(name, known.table)
    yield Step(
        actions.DROP_CHECK_CONSTRAINT,
        lambda before: with_checks(
            before, tuple(check for check in before.checks if check.name.lower() != name.lower())
        ),
    )


def alter_check(spec: AlterCheck, alteration: Alteration) -> Steps:
    known = alteration.known
    if known is None or not alteration.session.check_constraints:
        yield from unknown_check(actions.ALTER_CHECK_CONSTRAINT, alteration.session)
        return
    check_there(spec.name, known.table)
    yield Step(
        actions.ALTER_CHECK_CONSTRAINT,
        lambda before: with_checks(
            before,
            tuple(
                replace(check, enforced=spec.enforced) if check.name.lower() == spec.name.lower() else check
                for check in before.checks
            ),
        ),
    )


def check_there(name: str, table: Table) -> None:
    if name.lower() not in lower(check.name for check in table.checks):
        raise tidb("ddl:3940", name)


def with_checks(table: Table, checks: tuple[CheckConstraint, ...]) -> Table:
    """The table with those; its statement does not say them."""
    return replace(table, checks=checks, statement="")


def check_not_checked(name: str, table: Table, alone: bool) -> None:
    """Raises DdlError for a column that a CHECK names; `alone` says whether one about it alone counts too (TiDB:
    IsColumnRenameableWithCheckConstraint, IsColumnDroppableWithCheckConstraint)."""
    for check in table.checks:
        names = checked_columns(check)
        if name.lower() in names and (alone or len(names) > 1):
            raise tidb("ddl:3959", check.name, name)


def checked_columns(check: CheckConstraint) -> list[str]:
    tree = tree_of(check.expression)
    return columns_in(tree) if tree is not None else []


def without_lost(table: Table) -> Table:
    """The table without CHECKs of columns that it no longer has (TiDB: removeInvalidCheckConstraintsInfo)."""
    there = {column.name.lower() for column in table.columns}
    kept = tuple(check for check in table.checks if there.issuperset(checked_columns(check)))
    return table if len(kept) == len(table.checks) else with_checks(table, kept)
