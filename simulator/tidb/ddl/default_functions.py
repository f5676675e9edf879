"""DEFAULTs that are functions, and those of SET DEFAULT, which are evaluated at once. They are parsed, for which light
commands do not wait: `defaults` is theirs.

Sources: tidb v8.0.0 pkg/ddl/ddl_api.go getFuncCallDefaultValue (later pkg/ddl/add_column.go), SetDefaultValue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.tidb import syntax
from simulator.tidb.ddl.expressions import evaluate_constant, parse_or_none
from simulator.tidb.errors import error_with_text, tidb_error
from simulator.tidb.expressions.expression import UNLIMITED
from simulator.tidb.expressions.trees import argument_counts
from simulator.tidb.model.types import ColumnType, family

NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
TODAY = ("CURRENT_DATE", "CURDATE")
DATE_FORMATS = ("%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H.%i.%s", "%Y-%m-%d %H:%i:%s")


def check_default_function(column: str, type: ColumnType, default: syntax.ColumnDefault, newer: frozenset[str]) -> None:
    """Raise DdlError for a function that may not be the column's default; `newer` are further ones of the release."""
    spelled = default.text.partition("(")[0].strip()
    name = spelled.upper()
    if name in NOW:
        if family(type) != "datetime" or digits(default.text) != max(type.decimal, 0):
            raise tidb_error("types:1067", column)
        return
    if name in TODAY:
        if family(type) == "datetime" and type.decimal > 0:
            raise tidb_error("types:1067", column)
        return
    tree = parse_or_none(default.text)
    if isinstance(tree, syntax.ContextExpression) and tree.kind == "a sequence" or name.startswith("NEXT"):
        if family(type) != "integer":
            raise tidb_error("ddl:8228", column)
        return
    if not isinstance(tree, syntax.Call):
        raise tidb_error("ddl:3770", column, spelled)
    if tree.name in newer:
        return
    allowed = ALLOWED.get(tree.name)
    if allowed is not None:
        least, most = argument_counts(tree.name) or (0, UNLIMITED)
        if not least <= len(tree.arguments) <= most:
            raise tidb_error("expression:1582", tree.name.lower())
    if allowed is None or not allowed(tree.arguments):
        raise tidb_error("ddl:3770", column, spelled)


def digits(text: str) -> int:
    """Return the argument of CURRENT_TIMESTAMP, its digits of a second."""
    inside = text.partition("(")[2].rstrip(") ")
    return int(inside) if inside.isdecimal() else 0


def call_arguments(node: syntax.Node, name: str) -> tuple[syntax.Node, ...] | None:
    return node.arguments if isinstance(node, syntax.Call) and node.name == name else None


def _string_literal(node: syntax.Node) -> str | None:
    return node.text if isinstance(node, syntax.Literal) else None


def is_date_format(arguments: tuple[syntax.Node, ...]) -> bool:
    """Return whether the arguments are those of `DATE_FORMAT(NOW(), '%Y-%m')`."""
    return call_arguments(arguments[0], "NOW") is not None and _string_literal(arguments[1]) in DATE_FORMATS


def is_replaced_uuid(arguments: tuple[syntax.Node, ...]) -> bool:
    """Return whether the arguments are those of `REPLACE(UPPER(UUID()), '-', '')`, with or without CONVERT."""
    first = (call_arguments(arguments[0], "CONVERT") or arguments)[0]
    upper = call_arguments(first, "UPPER")
    return upper is not None and call_arguments(upper[0], "UUID") is not None


def is_user_name(arguments: tuple[syntax.Node, ...]) -> bool:
    """Return whether the arguments are those of `UPPER(SUBSTRING_INDEX(USER(), '@', 1))`."""
    inner = call_arguments(arguments[0], "SUBSTRING_INDEX")
    return inner is not None and call_arguments(inner[0], "USER") is not None and _string_literal(inner[1]) == "@"


def are_literals(arguments: tuple[syntax.Node, ...]) -> bool:
    return all(isinstance(argument, syntax.Literal) for argument in arguments)


def any_arguments(arguments: tuple[syntax.Node, ...]) -> bool:
    return True


ALLOWED: Mapping[str, Callable[[tuple[syntax.Node, ...]], bool]] = {
    "RAND": any_arguments,
    "UUID": any_arguments,
    "UUID_TO_BIN": any_arguments,
    "DATE_FORMAT": is_date_format,
    "REPLACE": is_replaced_uuid,
    "UPPER": is_user_name,
    "STR_TO_DATE": are_literals,
}
"""Functions that every release allows, with a check of their arguments."""


OTHER_NOW_FUNCTIONS = ("NOW", "LOCALTIME", "LOCALTIMESTAMP", "CURDATE")
LITERALS = {
    "null": "null",
    "int": "number",
    "uint": "number",
    "decimal": "number",
    "real": "number",
    "string": "string",
}
"""Kinds of literals by kinds of values."""


def evaluate_default(default: syntax.ColumnDefault, column: str) -> syntax.ColumnDefault:
    """Return the default of SET DEFAULT as a literal or a call. Raises DdlError.

    A function call stays an expression; of the functions for the current time, only CURRENT_TIMESTAMP is allowed. Any
    other expression is evaluated at once (TiDB: pkg/ddl/ddl_api.go, SetDefaultValue, getDefaultValue).
    """
    tree = parse_or_none(default.text) if default.kind == "expression" else None
    if tree is None or isinstance(tree, syntax.ContextExpression) and tree.kind == "a sequence":
        return default
    if isinstance(tree, syntax.Call):
        if tree.name in OTHER_NOW_FUNCTIONS:
            raise tidb_error("ddl:3770", column, default.text.partition("(")[0].strip())
        return default
    result = evaluate_constant(default.text)
    if result.kind not in LITERALS:
        raise error_with_text(
            "ddl:1235", f"SET DEFAULT ({default.text}) is not simulated; accepted: literals and calls"
        )
    return syntax.ColumnDefault(LITERALS[result.kind], result.text)
