"""Syntax trees of expressions: parsing, column names, and the functions that can be computed or only TiDB can.

TiDB does not know a name of a function that is in neither list.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.expressions.byte_functions import CIPHER_FUNCTIONS, ENCODING_FUNCTIONS
from simulator.tidb.expressions.choices import CHOICE_FUNCTIONS
from simulator.tidb.expressions.expression import UNLIMITED, Function
from simulator.tidb.expressions.json_documents import JSON_FUNCTIONS
from simulator.tidb.expressions.number_functions import NUMBER_FUNCTIONS, VECTOR_FUNCTIONS
from simulator.tidb.expressions.text_functions import TEXT_FUNCTIONS
from simulator.tidb.expressions.time_functions import TIME_FUNCTIONS
from simulator.tidb.functions.intervals import COMPOUND_UNITS
from simulator.tidb.model.table import Table, columns_by_name

UNITS = (*"HOUR MINUTE SECOND MICROSECOND DAY WEEK MONTH QUARTER YEAR".split(), *COMPOUND_UNITS)
"""The units of INTERVAL that expressions compute."""


@lru_cache(64)
def parse_expression(expression: str, sql_mode: frozenset[str] = frozenset()) -> syntax.Node:
    """Parse an expression. Raises SchemaError."""
    from simulator.tidb.parser.expressions import parse_node  # imports sqlglot, which few messages need
    from simulator.tidb.parser.script import parse_tokens
    from simulator.tidb.parser.tokens import tokenize

    try:
        return parse_tokens(expression, tokenize(expression, sql_mode), parse_node, sql_mode=sql_mode)
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None


def definition_tree(expression: str, table: Table) -> syntax.Node:
    """Parse an expression of a table's definition.

    It names columns of its table only, which may have another name by now. Raises SchemaError for a syntax error, an unknown column, and a part that cannot be computed, also in a virtual
    column that it names.
    """
    try:
        tree = parse_expression(expression)
    except SchemaError as error:
        raise SchemaError(f"expression {expression!r} cannot be read: {error}") from None
    for node in syntax.walk(tree):
        if isinstance(node, syntax.ColumnName):
            column = columns_by_name(table).get(node.parts[-1].lower())
            if column is None:
                raise SchemaError(f"expression {expression!r} names an unknown column {node.parts[-1]!r}")
            if column.generated == "virtual":
                definition_tree(column.generated_expression, table)
        problem = uncomputable_part(node)
        if problem:
            raise SchemaError(f"expression {expression!r}: {problem} cannot be computed outside TiDB")
    return tree


def conjuncts(condition: syntax.Node | None) -> list[syntax.Node]:
    """Return the parts of a condition that AND joins, from left to right, without parentheses; none for None."""
    parts, waiting = list[syntax.Node](), [] if condition is None else [condition]
    while waiting:
        node = strip_parentheses(waiting.pop())
        if isinstance(node, syntax.Binary) and node.operator == "AND":
            waiting += [node.right, node.left]
        else:
            parts.append(node)
    return parts


def replace_nodes(node: syntax.Node, change: Callable[[syntax.Node], syntax.Node | None]) -> syntax.Node:
    """Return a tree with the replacements of `change`, which returns None for a node that stays. Queries inside of it are
    not entered."""
    replaced: syntax.Node = syntax.replace_parts(node, change, syntax.Node)
    return replaced


def uncomputable_part(node: syntax.Node) -> str:
    """Return the part of a node that only TiDB can compute; empty if there is none."""
    if isinstance(node, syntax.ContextExpression):
        return node.kind
    if isinstance(node, (syntax.DefaultValue, syntax.InsertedValue)):
        return "DEFAULT()" if isinstance(node, syntax.DefaultValue) else "VALUES()"
    if isinstance(node, syntax.RowExpression):
        return "a row of values"
    if isinstance(node, syntax.Cast) and node.type.endswith((" ARRAY", "VECTOR")):
        return f"a cast to {node.type}"
    return _uncomputable_call(node) if isinstance(node, syntax.Call) and not node.schema else ""


def _uncomputable_call(node: syntax.Call) -> str:
    function = FUNCTIONS.get(node.name)
    if function is None or not function.takes(len(node.arguments)):
        return node.name.removesuffix("_FUNC")
    for place in function.literal_arguments:
        argument = strip_parentheses(node.arguments[place]) if place < len(node.arguments) else None
        if (
            argument is not None
            and not isinstance(argument, (syntax.Literal, syntax.Word))
            and not _is_number(argument)
        ):
            return f"{node.name} with an argument that is no literal"
        if isinstance(argument, syntax.Word) and not (node.name in ("TRIM", "GET_FORMAT") or argument.text in UNITS):
            return f"{node.name} with {argument.text}"
    return ""


def _is_number(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Unary) and node.operator in ("-", "+") and isinstance(node.operand, syntax.Literal)


def strip_parentheses(node: syntax.Node) -> syntax.Node:
    """Return the node without the parentheses around it."""
    while isinstance(node, syntax.Parenthesised):
        node = node.inner
    return node


FUNCTIONS: dict[str, Function] = {
    **CHOICE_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **ENCODING_FUNCTIONS,
    **CIPHER_FUNCTIONS,
    **JSON_FUNCTIONS,
    **TIME_FUNCTIONS,
    **VECTOR_FUNCTIONS,
}
"""By TiDB's names."""

_TIDB_ONLY = {
    (0, 0): (
        "CONNECTION_ID CURDATE CURRENT_DATE CURRENT_RESOURCE_GROUP CURRENT_ROLE CURRENT_USER DATABASE FOUND_ROWS "
        "RELEASE_ALL_LOCKS ROW_COUNT SCHEMA SESSION_USER SYSTEM_USER TIDB_CURRENT_TSO TIDB_IS_DDL_OWNER "
        "TIDB_ROW_CHECKSUM TIDB_VERSION USER UTC_DATE UUID UUID_SHORT VERSION"
    ),
    (0, 1): (
        "CURRENT_TIME CURRENT_TIMESTAMP CURTIME LAST_INSERT_ID LOCALTIME LOCALTIMESTAMP NOW RAND SYSDATE UTC_TIME "
        "UTC_TIMESTAMP"
    ),
    (1, 1): (
        "COMPRESS FORMAT_NANO_TIME GROUPING IS_FREE_LOCK IS_USED_LOCK RANDOM_BYTES RELEASE_LOCK SLEEP "
        "TIDB_DECODE_BINARY_PLAN TIDB_DECODE_KEY TIDB_DECODE_PLAN TIDB_ENCODE_SQL_DIGEST TIDB_PARSE_TSO "
        "TIDB_PARSE_TSO_LOGICAL VALIDATE_PASSWORD_STRENGTH"
    ),
    (1, 2): "TIDB_DECODE_SQL_DIGESTS",
    (2, 2): "DECODE ENCODE GET_LOCK JSON_SCHEMA_VALID TIDB_BOUNDED_STALENESS",
}
TIDB_ONLY_FUNCTIONS = {name: counts for counts, names in _TIDB_ONLY.items() for name in names.split()}
"""Functions that expressions cannot compute, those of sessions among them, with the smallest and the largest number of
arguments (TiDB v8.5: pkg/parser/ast/functions.go, without those that pkg/expression/builtin.go lacks)."""

DEFINED_FUNCTIONS = {
    **dict.fromkeys(("DEFAULT_FUNC", "LASTVAL", "NEXTVAL", "OLD_PASSWORD"), (1, 1)),
    **dict.fromkeys(("DES_DECRYPT", "DES_ENCRYPT", "ENCRYPT"), (1, 2)),
    **dict.fromkeys(("REGEXP", "SETVAL"), (2, 2)),
    **dict.fromkeys(("TIDB_ENCODE_INDEX_KEY", "TIDB_ENCODE_RECORD_KEY", "TIDB_MVCC_INFO"), (0, UNLIMITED)),
    "CHAR_FUNC": (2, UNLIMITED),
    "FTS_MATCH_WORD": (0, UNLIMITED),
    "MASTER_POS_WAIT": (2, 4),
    "UNIX_TIMESTAMP": (0, 1),
}
"""The same of functions that TiDB checks by other numbers in definitions, or knows there only."""


def argument_counts(name: str) -> tuple[int, int] | None:
    """Return the smallest and the largest number of arguments of a function in a definition; None for a name that is no
    function there. NULLIF is none (TiDB: pkg/expression/builtin.go, funcs)."""
    function = FUNCTIONS.get(name) if name != "NULLIF" else None
    known = None if function is None else (function.min_arguments, function.max_arguments)
    return DEFINED_FUNCTIONS.get(name) or known or TIDB_ONLY_FUNCTIONS.get(name)
