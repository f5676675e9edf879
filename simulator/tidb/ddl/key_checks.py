"""What TiDB checks of keys, those of a new table and the parts of any key, and of CHECK constraints, in its order.

Sources: tidb pkg/ddl/index.go, buildIndexColumns, checkIndexColumn, BuildHiddenColumnInfo (before:
pkg/ddl/ddl_api.go); pkg/ddl/constraint.go; pkg/table/constraint.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import (
    MAX_NAME_LENGTH,
    Catalog,
    check_length,
    column_names,
    existing_column,
    find_column,
    lower_names,
    qualified_names,
)
from simulator.tidb.ddl.column_definitions import MAX_COMMENT_BYTES
from simulator.tidb.ddl.expressions import check_key_functions
from simulator.tidb.ddl.foreign_keys import check_new_foreign_key
from simulator.tidb.ddl.grammar import check_parts_grammar
from simulator.tidb.ddl.key_definitions import (
    COLUMNAR_KINDS,
    INDEX_KINDS,
    all_keys,
    key_names,
    name_checks,
    with_not_null,
)
from simulator.tidb.ddl.session import Session
from simulator.tidb.ddl.table_definitions import build_column
from simulator.tidb.errors import converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.expressions.trees import parse_expression, strip_parentheses
from simulator.tidb.model.table import CheckConstraint, Column, IndexColumn, Table
from simulator.tidb.model.types import CHARSETS, ColumnType, family, is_text

MAX_KEY_BYTES = 3072
TYPE_BYTES = dict(tinyint=1, smallint=2, mediumint=3, int=4, float=4, year=1, date=3, time=3, timestamp=4)
"""Bytes of a value in a key (TiDB: pkg/parser/mysql/const.go, DefaultLengthOfMysqlTypes). Other types have 8."""

RESULT_LENGTHS: Mapping[str, Callable[[int], int]] = {
    **dict.fromkeys(("LOWER", "UPPER", "REVERSE"), lambda length: length),
    "JSON_QUOTE": lambda length: 6 * length + 2,
}
"""The length of a function's result by that of its argument."""

LONG_TEXT_FUNCTIONS = ("JSON_UNQUOTE", "JSON_PRETTY")


def check_keys(definition: syntax.CreateTable, charset: tuple[str, str], schema: str, session: Session) -> None:
    """Check the names of keys, then keys of the table, then keys of columns (TiDB: checkConstraintNames,
    BuildTableInfo)."""
    keys = all_keys(definition)
    check_constraint_names(keys)
    names = key_names(keys)
    with converting_errors("ddl:1105"):
        columns = tuple(build_column(column, charset, "") for column in definition.columns)
    primary = {part.column.lower() for key in keys if key.kind == "primary" for part in key.parts}
    columns = with_not_null(columns, [column.name for column in columns if column.name.lower() in primary])
    table = Table(schema, definition.name, columns, temporary=definition.temporary)
    foreign: list[str] = []
    for key in keys:
        if key.kind == "foreign":
            foreign.append(key.name.lower() or f"fk_{len(foreign) + 1}")
            if foreign[-1] in foreign[:-1]:
                raise tidb_error("schema:1215")
            check_new_foreign_key(key, len(foreign), table)
        else:
            check_key(key, names[id(key)], table, session)
    used_names = {names[id(key)].lower() for key in keys if key.kind != "foreign"}
    check_foreign_indexes(keys, used_names, table)


def check_constraint_names(keys: Sequence[syntax.KeyDefinition]) -> None:
    """Raise DdlError for duplicate names (TiDB: checkDuplicateConstraint)."""
    used_names: dict[bool, set[str]] = {True: set(), False: set()}
    for key in keys:
        is_foreign = key.kind == "foreign"
        if key.name and key.name.lower() in used_names[is_foreign]:
            raise tidb_error({"foreign": "ddl:1826", "check": "ddl:3822"}.get(key.kind, "ddl:1061"), key.name)
        used_names[is_foreign].add(key.name.lower())


def check_key(key: syntax.KeyDefinition, name: str, table: Table, session: Session) -> None:
    if key.kind in ("check", "fulltext", "spatial"):
        return
    check_expressions(key, table, name)
    if key.options.clustered is not None and key.kind != "primary":
        raise error_with_text("ddl:8200", "CLUSTERED/NONCLUSTERED keyword is only supported for primary key")
    if key.kind == "primary" and check_primary_key(key, table):
        return
    if key.kind != "primary":
        check_length(name)
    if key.kind in INDEX_KINDS:
        check_parts(key, table, name, session.is_strict)
    if session.is_strict and len((key.options.comment or "").encode()) > MAX_COMMENT_BYTES:
        raise tidb_error("ddl:1688", "PRIMARY" if key.kind == "primary" else name)


def check_primary_key(key: syntax.KeyDefinition, table: Table) -> bool:
    """Check a primary key; return whether it is one clustered integer column, and so no index."""
    for part in key.parts:
        if part.expression:
            raise tidb_error("ddl:3756")
        column = existing_column(table, part.column, tidb_error("ddl:1072", part.column))
        if column.generated == "virtual":
            raise tidb_error("ddl:3106", "Defining a virtual generated column as primary key")
    clustered = key.options.clustered is not False
    if clustered and key.options.visible is False:
        raise tidb_error("ddl:3522")
    return clustered and len(key.parts) == 1 and column is not None and family(column.type) == "integer"


def check_foreign_indexes(keys: Sequence[syntax.KeyDefinition], used_names: set[str], table: Table) -> None:
    """Check the name and columns of the index that a foreign key gets (TiDB: addIndexForForeignKey)."""
    indexed = (key.parts for key in keys if key.kind in INDEX_KINDS)
    beginnings = [tuple(part.column.lower() if part.length < 0 else "" for part in parts) for parts in indexed]
    for number, key in enumerate((key for key in keys if key.kind == "foreign"), 1):
        columns = tuple(part.column.lower() for part in key.parts)
        if any(columns == beginning[: len(columns)] for beginning in beginnings):
            continue
        name = key.name or f"fk_{number}"
        if name.lower() in used_names:
            raise error_with_text("ddl:1061", f"duplicate key name {name}")
        check_parts(syntax.KeyDefinition("key", name, key.parts), table)
        used_names.add(name.lower())
        beginnings.append(columns)


# -- parts -------------------------------------------------------------------------------------------------------------


def check_parts(key: syntax.KeyDefinition, table: Table, name: str = "", strict: bool = True) -> None:
    """Raise DdlError for a key that the table cannot have (TiDB: buildIndexColumns)."""
    check_parts_grammar("", key.parts)
    check_expressions(key, table, name or key.name)
    total = 0
    for part in key.parts:
        if part.expression or key.kind in COLUMNAR_KINDS and not part.column:
            continue
        column = existing_column(
            table, part.column, error_with_text("ddl:1072", f"column does not exist: {part.column}")
        )
        if key.kind in COLUMNAR_KINDS:
            continue
        total += check_part(column, part.length, strict)
        if total > MAX_KEY_BYTES and (strict or key.kind in ("unique", "primary") or len(key.parts) > 1):
            raise tidb_error("ddl:1071", total, MAX_KEY_BYTES)


def check_index_parts(columns: Iterable[IndexColumn], table: Table) -> None:
    """Check the columns of an existing index in a changed table."""
    parts = (syntax.KeyPart("" if part.expression else part.name, part.length, part.expression) for part in columns)
    check_parts(syntax.KeyDefinition("key", "", tuple(parts)), table)


def check_expressions(key: syntax.KeyDefinition, table: Table, name: str) -> None:
    """Check the expressions of a functional key (TiDB: buildHiddenColumnInfoWithCheck)."""
    if key.kind in COLUMNAR_KINDS:
        return
    for place, part in enumerate(key.parts):
        if not part.expression:
            continue
        hidden = f"_V$_{name}_{place}"
        if len(hidden) > MAX_NAME_LENGTH:
            raise tidb_error("ddl:1059", "hidden column")
        check_key_functions(name, part.expression)
        if column := find_column(table, hidden):
            raise tidb_error("schema:1060", column.name)
        check_expression(part.expression, name, table)


def check_expression(expression: str, name: str, table: Table) -> None:
    """Check an expression of a functional key: its columns and its type; it must be more than a column."""
    for parts in qualified_names(expression):
        if len(parts) > 1 and parts[-2].lower() != table.name.lower():
            raise tidb_error("ddl:1054", ".".join(parts), "expression")
    names = sorted(column_names(expression))
    for column in names:
        existing_column(table, column, tidb_error("ddl:1054", column, "expression"))
    tree = strip_parentheses(parse_expression(expression))
    if isinstance(tree, syntax.ColumnName):
        raise tidb_error("ddl:3762")
    if any(column.auto_increment and column.name.lower() in names for column in table.columns):
        raise tidb_error("ddl:3754", name)
    check_result(tree, table)


def check_result(tree: syntax.Node, table: Table) -> None:
    """Raise DdlError for an expression whose result is JSON or a long text, except a CAST to an array."""
    if isinstance(tree, syntax.Cast):
        if tree.type == "JSON":
            raise tidb_error("ddl:3753")
        return
    if not isinstance(tree, syntax.Call):
        return
    if tree.name == "JSON_OBJECT" and len(tree.arguments) % 2:
        raise tidb_error("expression:1582", tree.name.lower())
    if tree.name in JSON_FUNCTIONS:
        raise tidb_error("ddl:3753")
    if tree.name in LONG_TEXT_FUNCTIONS:
        raise tidb_error("ddl:3757")
    argument = tree.arguments[0] if tree.arguments else None
    column = find_column(table, argument.parts[-1]) if isinstance(argument, syntax.ColumnName) else None
    if column and is_text(column.type) and tree.name in RESULT_LENGTHS:
        bytes = RESULT_LENGTHS[tree.name](column.type.length) * CHARSETS[column.type.charset][1]
        if bytes > MAX_KEY_BYTES:
            raise tidb_error("ddl:1071", bytes, MAX_KEY_BYTES)


JSON_FUNCTIONS = frozenset(
    "JSON_EXTRACT JSON_ARRAY JSON_OBJECT JSON_SET JSON_INSERT JSON_REPLACE JSON_REMOVE JSON_ARRAY_APPEND"
    " JSON_ARRAY_INSERT JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_SEARCH JSON_KEYS".split()
)


def check_part(column: Column, length: int, strict: bool = True) -> int:
    """Return the bytes of the column in a key. Raises DdlError for a column that cannot be in one (TiDB:
    checkIndexColumn, getIndexColumnLength)."""
    type, kind = column.type, family(column.type)
    if kind == "string" and type.length == 0:
        raise tidb_error("ddl:1167", column.name)
    if kind == "json":
        raise tidb_error("ddl:3152", column.name)
    if kind == "vector":
        raise unsupported_error("add vector index: only support vector distance function on the column")
    if kind == "text" and length < 0:
        raise tidb_error("ddl:1170", column.name)
    if kind not in ("string", "text"):
        if length >= 0:
            raise tidb_error("ddl:1089")
        return value_bytes(type)
    if length == 0:
        raise tidb_error("ddl:1391", column.name)
    if kind == "string" and length > type.length:
        raise tidb_error("ddl:1089")
    bytes = CHARSETS[type.charset][1]
    if length * bytes > MAX_KEY_BYTES and strict:
        raise tidb_error("ddl:1071", length * bytes, MAX_KEY_BYTES)
    return (length if length > 0 else type.length) * bytes


def value_bytes(type: ColumnType) -> int:
    if type.name == "bit":
        return (type.length + 7) // 8
    if type.name == "decimal":
        return type.length // 9 * 4 + (type.length % 9 + 1) // 2
    if type.name == "enum":
        return max(map(len, type.elements), default=0)
    if type.name == "set":
        return sum(map(len, type.elements)) + len(type.elements) - 1
    return TYPE_BYTES.get(type.name, 8)


# -- CHECK constraints -------------------------------------------------------------------------------------------------


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


def check_new_checks(definition: syntax.CreateTable, table: Table) -> None:
    """Raise DdlError for an invalid CHECK in CREATE TABLE (BuildTableInfo)."""
    for name, check, column in name_checks(definition):
        tree = parse_expression(check.condition.text)
        check_condition(name, tree)
        names = named_columns(tree)
        for named in names if not column else ():
            existing_column(table, named, tidb_error("ddl:3820", name, named))
        if column and not names and not (isinstance(tree, syntax.Literal) and tree.kind == "boolean"):
            raise error_with_text("ddl:1105", "unsupported expression in check constraint")
        if column and names and names != [column.lower()]:
            raise tidb_error("ddl:3813", name)
        check_condition_columns(name, tree, names, table)


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


def check_condition_columns(name: str, tree: syntax.Node, names: Sequence[str], table: Table) -> None:
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


def named_columns(node: syntax.Node) -> list[str]:
    return sorted({name.parts[-1].lower() for name in syntax.names_in(node)})


def check_name_is_free(name: str, table: Table, catalog: Catalog) -> None:
    """Raise DdlError if a table of the same database has a CHECK of that name (checkConstraintNamesNotExists)."""
    for other in catalog.tables.values():
        names = lower_names(check.name for check in other.checks)
        if other.schema.lower() == table.schema.lower() and name.lower() in names:
            raise tidb_error("ddl:3822", name.lower())


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
    return named_columns(parse_expression(check.expression))


def without_invalid_checks(table: Table) -> Table:
    """Return the table without CHECKs of dropped columns (TiDB: removeInvalidCheckConstraintsInfo)."""
    existing = {column.name.lower() for column in table.columns}
    checks = tuple(check for check in table.checks if existing.issuperset(checked_columns(check)))
    return table if len(checks) == len(table.checks) else with_checks(table, checks)
