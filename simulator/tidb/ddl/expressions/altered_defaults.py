"""Expressions of ALTER COLUMN … SET DEFAULT.

A function call stays an expression; of the functions for the current time, only CURRENT_TIMESTAMP is allowed. Any other
expression is evaluated at once (TiDB: pkg/ddl/ddl_api.go, SetDefaultValue, getDefaultValue, getFuncCallDefaultValue).
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.ddl.expressions.constants import evaluate_constant
from simulator.tidb.ddl.expressions.illegal_functions import parse_or_none
from simulator.tidb.ddl.tidb_errors import error_with_text, tidb_error

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
    """Return the default as a literal or a call. Raises DdlError."""
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
