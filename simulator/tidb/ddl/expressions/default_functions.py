"""Which functions may be a column's default, and of which columns (TiDB: pkg/ddl/ddl_api.go, getFuncCallDefaultValue;
later pkg/ddl/add_column.go)."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from simulator.tidb.ddl.expressions.illegal_functions import tree_of
from simulator.tidb.ddl.tidb_errors import tidb
from simulator.tidb.model.native_functions import MANY, NATIVE_FUNCTIONS
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.syntax.definitions import ColumnDefault
from simulator.tidb.syntax.expressions import Call, ContextExpression, Literal, Node

NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
TODAY = ("CURRENT_DATE", "CURDATE")
DATE_FORMATS = ("%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H.%i.%s", "%Y-%m-%d %H:%i:%s")


def check_default_function(column: str, type: ColumnType, default: ColumnDefault, newer: frozenset[str]) -> None:
    """Raises DdlError for a function that may not be the column's default; `newer` are those that the release has
    beside the ones that all have."""
    spelled = default.text.partition("(")[0].strip()
    name = spelled.upper()
    if name in NOW:
        if family(type) != "datetime" or digits(default.text) != max(type.decimal, 0):
            raise tidb("types:1067", column)
        return
    if name in TODAY:
        if family(type) == "datetime" and type.decimal > 0:
            raise tidb("types:1067", column)
        return
    tree = tree_of(default.text)
    if isinstance(tree, ContextExpression) and tree.kind == "a sequence" or name.startswith("NEXT"):
        if family(type) != "integer":
            raise tidb("ddl:8228", column)
        return
    if not isinstance(tree, Call):
        raise tidb("ddl:3770", column, spelled)
    if tree.name in newer:
        return
    allowed = ALLOWED.get(tree.name)
    if allowed is not None:
        least, most = NATIVE_FUNCTIONS.get(tree.name, (0, MANY))
        if not least <= len(tree.arguments) <= most:
            raise tidb("expression:1582", tree.name.lower())
    if allowed is None or not allowed(tree.arguments):
        raise tidb("ddl:3770", column, spelled)


def digits(text: str) -> int:
    """The digits of a second that CURRENT_TIMESTAMP asks for."""
    inside = text.partition("(")[2].rstrip(") ")
    return int(inside) if inside.isdecimal() else 0


def called(node: Node, name: str) -> tuple[Node, ...] | None:
    """The arguments of that function; None for anything else."""
    return node.arguments if isinstance(node, Call) and node.name == name else None


def literal(node: Node) -> str | None:
    return node.text if isinstance(node, Literal) else None


def is_date_format(arguments: tuple[Node, ...]) -> bool:
    """`DATE_FORMAT(NOW(), '%Y-%m')`"""
    return called(arguments[0], "NOW") is not None and literal(arguments[1]) in DATE_FORMATS


def is_replaced_uuid(arguments: tuple[Node, ...]) -> bool:
    """`REPLACE(UPPER(UUID()), '-', '')`, with CONVERT or without."""
    first = (called(arguments[0], "CONVERT") or arguments)[0]
    upper = called(first, "UPPER")
    return upper is not None and called(upper[0], "UUID") is not None


def is_user_name(arguments: tuple[Node, ...]) -> bool:
    """`UPPER(SUBSTRING_INDEX(USER(), '@', 1))`"""
    inner = called(arguments[0], "SUBSTRING_INDEX")
    return inner is not None and called(inner[0], "USER") is not None and literal(inner[1]) == "@"


def are_literals(arguments: tuple[Node, ...]) -> bool:
    return all(isinstance(argument, Literal) for argument in arguments)


def anything(arguments: tuple[Node, ...]) -> bool:
    return True


ALLOWED: MappingProxyType[str, Callable[[tuple[Node, ...]], bool]] = MappingProxyType(
    {
        "RAND": anything,
        "UUID": anything,
        "UUID_TO_BIN": anything,
        "DATE_FORMAT": is_date_format,
        "REPLACE": is_replaced_uuid,
        "UPPER": is_user_name,
        "STR_TO_DATE": are_literals,
    }
)
"""Functions that every release takes, and what their arguments must be."""
