"""DEFAULT values: the text that TiDB stores of one, and the value that the column makes of that text.

TableInfo keeps a literal much as it was written: `'70'` of a YEAR, `2.50` of a DECIMAL(10,0), the shortest bytes of a
BIT's number. Only integers, floats, members, dates and times are converted first, and TiDB before 6.2 converts fewer
(`Release.literal_defaults`). The text is `Column.default` and `Column.origin_default`; rows have the `row_default`.

An expression stays SQL text. Those of generated columns, functional indexes, CHECKs and defaults have keywords in
lower case and blanks around symbols; that of a partitioning has neither (tidb pkg/ddl/generated_column.go, index.go,
partition.go).

Sources: tidb v8.0.0 pkg/ddl/ddl_api.go getDefaultValue, setDefaultValueWithBinaryPadding; pkg/parser/model ColumnInfo
(DefaultValue, DefaultValueBit, OriginDefaultValue, OriginDefaultValueBit); pkg/table/column.go GetColDefaultValue. Of
functions: pkg/ddl/ddl_api.go getFuncCallDefaultValue (later pkg/ddl/add_column.go), SetDefaultValue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from functools import lru_cache

from msgspec.structs import replace

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.datums import STRICT_MODE, Datum
from simulator.tidb.datums.cast import cast_value
from simulator.tidb.ddl.expressions import evaluate_constant
from simulator.tidb.errors import error_with_text, tidb_error
from simulator.tidb.expressions.expression import UNLIMITED
from simulator.tidb.expressions.trees import argument_counts, parse_expression, replace_nodes
from simulator.tidb.functions.time_formats import date_format
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.restore import restore_node
from simulator.tidb.syntax.definitions import NOW, TODAY, literal_bytes
from simulator.tidb.values import durations


def default_text(
    default: syntax.ColumnDefault | None, type: ColumnType, where: str, literal: Collection[str] = ()
) -> tuple[str | None, bool]:
    """Return the default as TiDB stores it, None for NULL or no default, and whether it is an expression.

    `literal` is the release's `literal_defaults`. Raises SchemaError, with a text that begins with `where`, for a value that the type does not have.
    """
    if default is None or default.kind == "null":
        return None, False
    if default.kind == "expression":
        return default.text, True
    text = value_text(default, type)
    if text is None:
        raise SchemaError(f"{where}: invalid default {default.text!r} for a column of type {type.name}")
    return _stored_text(default, type, text, literal), False


def _stored_text(default: syntax.ColumnDefault, type: ColumnType, value: str, literal: Collection[str]) -> str:
    """Return what TableInfo keeps of a literal; bytes are text in Latin-1. `value` is what the column makes of it."""
    kind = family(type)
    is_bytes = default.kind in ("hex", "bit")
    if kind == "json":
        return "null"  # a lenient sql_mode makes it of an empty text
    if kind in literal and not is_bytes:
        return literal_text(default)
    if kind == "float":
        return positional_float(value)
    if kind == "bit":
        return _bits(default).decode("latin-1")
    if kind in ("decimal", "year") and is_bytes:
        return bytes_to_number(literal_bytes(default.kind, default.text)) or ""
    if kind in ("decimal", "year"):
        return literal_text(default)
    if kind == "string" and is_binary(type):
        return stored_in_json(value.encode("latin-1")).decode("latin-1")
    return value


def _bits(default: syntax.ColumnDefault) -> bytes:
    """Return the bytes of a BIT's default: the shortest of an integer, else those of the literal or of its text."""
    if default.kind in ("hex", "bit"):
        return literal_bytes(default.kind, default.text)
    text = literal_text(default)
    if default.kind == "string" or not text.removeprefix("-").isdecimal() or not -1 << 63 <= int(text) < 1 << 64:
        return text.encode("utf-8", "surrogateescape")
    number = int(text) % (1 << 64)
    return number.to_bytes(max((number.bit_length() + 7) // 8, 1), "big")


def literal_text(default: syntax.ColumnDefault) -> str:
    """Return a literal as a string: a decimal with its digits, a number with an exponent without it."""
    text = default.text
    if default.kind == "boolean":
        return "1" if text == "TRUE" else "0"
    if default.kind != "number":
        return text
    if "e" in text.lower():
        return format(Decimal(repr(float(text))), "f").removesuffix(".0")
    whole, point, digits = text.lstrip("-").partition(".")
    number = (whole.lstrip("0") or "0") + (point + digits if digits else "")
    return f"-{number}" if text.startswith("-") and number.strip("0.") else number


def positional_float(text: str) -> str:
    """Return a FLOAT or DOUBLE without an exponent, as strconv.FormatFloat(…, 'f', -1, …) does."""
    plain = format(Decimal(text), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def stored_in_json(text: bytes) -> bytes:
    """Return bytes as they are read back from TableInfo's JSON: each that is no UTF-8 is U+FFFD."""
    decoded = text.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= each <= "\udcff" else each for each in decoded).encode()


def row_default(column: Column) -> str | None:
    """Return the TiDB text of a column's literal default in rows; None for NULL and for no default."""
    return stored_value(column.default, column.type)


@lru_cache(4096)
def stored_value(stored: str | None, type: ColumnType) -> str | None:
    """Return the TiDB text of the value that a column makes of a stored default."""
    if stored is None:
        return None
    if family(type) == "bit":
        return str(int.from_bytes(stored.encode("latin-1"), "big"))
    if is_binary(type):
        return stored
    return value_text(syntax.ColumnDefault("string", stored), type)


CAST = ("integer", "decimal", "float", "year", "enum", "set")
"""Families whose defaults are cast as INSERT casts them."""


def value_text(default: syntax.ColumnDefault, type: ColumnType) -> str | None:
    """Return a literal as TiDB text of the type; None if the type has no such value."""
    kind = family(type)
    if kind == "bit":
        return bytes_to_number(_bits(default))
    if kind in CAST:
        value, problem = cast_value(type, "", _datum(default), STRICT_MODE)
        return None if problem or value is None else value.decode()
    is_bytes = default.kind in ("hex", "bit")
    if kind in ("date", "datetime", "time"):
        return None if is_bytes and kind != "time" else _time_text(default, type)
    bytes = literal_bytes(default.kind, default.text) if is_bytes else None
    if is_binary(type):
        bytes = literal_text(default).encode("utf-8", "surrogateescape") if bytes is None else bytes
        return bytes.decode("latin-1").ljust(type.length if type.name == "char" else 0, "\0")
    return literal_text(default) if bytes is None else _decoded(bytes, type.charset)


def _decoded(value: bytes, charset: str) -> str | None:
    """Return the text of a binary literal in a charset, None for bytes that it does not have."""
    if charset == "latin1":
        return value.decode("utf-8", "surrogateescape")
    try:
        return value.decode({"utf8mb4": "utf-8"}.get(charset, charset))
    except UnicodeDecodeError:
        return None


def _datum(default: syntax.ColumnDefault) -> Datum:
    if default.kind in ("hex", "bit"):
        return Datum("literal", literal_bytes(default.kind, default.text))
    text = literal_text(default)
    if default.kind == "string":
        return Datum("string", text.encode("utf-8", "surrogatepass"))
    if text.removeprefix("-").isdecimal() and -(2**63) <= int(text) < 2**64:
        return Datum("int" if int(text) < 2**63 else "uint", b"%d" % int(text))
    return Datum("decimal", text.encode())


def _time_text(default: syntax.ColumnDefault, type: ColumnType) -> str | None:
    text: str | None = default.text
    if default.kind in ("hex", "bit"):
        text = bytes_to_number(literal_bytes(default.kind, default.text))
    elif default.kind == "number" and type.name != "time":
        text = durations.number(default.text) if default.text.strip("0-") else "0000-00-00"
    if text is None or type.name == "date":
        return None if text is None else durations.date(text)
    read = {"datetime": durations.moment, "timestamp": durations.timestamp, "time": durations.time}[type.name]
    return read(text, max(type.decimal, 0))


def bytes_to_number(value: bytes) -> str | None:
    """Return the number of a binary literal; None if it exceeds 64 bits (tidb: BinaryLiteral.ToInt)."""
    value = value.lstrip(b"\0")
    return str(int.from_bytes(value, "big")) if len(value) <= 8 else None


def implicit_default(type: ColumnType) -> str:
    """Return what TiDB stores as the default of a new NOT NULL column without one: a zero without scale or fraction."""
    kind = family(type)
    if kind == "string":
        return "\0" * type.length if type.name == "char" and is_binary(type) else ""
    if kind == "enum":
        return type.elements[0]
    times = {"date": "0000-00-00", "datetime": "0000-00-00 00:00:00", "time": "00:00:00"}
    rest = {"json": "null", "text": "", "set": "", "vector": "[]", "bit": "", "year": "0000"}
    return times.get(kind) or rest.get(kind, "0")


def implicit_value(type: ColumnType) -> str:
    """Return the TiDB text of that zero in rows."""
    value = stored_value(implicit_default(type), type)
    assert value is not None, f"{type.name} has no zero"
    return value


QUOTED = re.compile(r"""('(?:[^']|'')*'|`(?:[^`]|``)*`)""")


@lru_cache(4096)
def stored_expression(text: str) -> str:
    """Return an expression of a column, an index, a check or a default. Raises SchemaError."""
    parts = QUOTED.split(restore_node(_spaced(_unqualified(parse_expression(text)))))
    return "".join(part if number % 2 else part.lower() for number, part in enumerate(parts))


@lru_cache(4096)
def stored_partitioning(text: str) -> str:
    """Return the expression of PARTITION BY; one with an operator stands in parentheses. Raises SchemaError."""
    tree = _unqualified(parse_expression(text))
    restored = restore_node(tree)
    return restored if isinstance(tree, syntax.ColumnName | syntax.Call | syntax.Parenthesised) else f"({restored})"


def _unqualified(node: syntax.Node) -> syntax.Node:
    """Return a tree with the names of columns alone."""
    return replace_nodes(
        node, lambda part: syntax.ColumnName(part.parts[-1:]) if isinstance(part, syntax.ColumnName) else None
    )


def _spaced(node: syntax.Node) -> syntax.Node:
    """Return a tree with blanks around the symbols of binary operators."""

    def change(part: syntax.Node) -> syntax.Node | None:
        if not isinstance(part, syntax.Binary) or part.operator[0].isalpha() or part.operator[0] == " ":
            return None
        return replace(part, operator=f" {part.operator} ", left=_spaced(part.left), right=_spaced(part.right))

    return replace_nodes(node, change)


# -- functions ----------------------------------------------------------------------------------------------------------


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
    tree = parse_expression(default.text)
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


ALLOWED: Mapping[str, Callable[[tuple[syntax.Node, ...]], bool]] = {
    **dict.fromkeys(("RAND", "UUID", "UUID_TO_BIN"), lambda arguments: True),
    "DATE_FORMAT": is_date_format,
    "REPLACE": is_replaced_uuid,
    "UPPER": is_user_name,
    "STR_TO_DATE": lambda arguments: all(isinstance(argument, syntax.Literal) for argument in arguments),
}
"""Functions that every release allows, with a check of their arguments."""


def constant_default(text: str, now: str) -> Datum | None:
    """Return the value of DATE_FORMAT and STR_TO_DATE; None for another function, which may have one for each row."""
    tree = parse_expression(text)
    if isinstance(tree, syntax.Call) and tree.name == "DATE_FORMAT":
        return Datum("string", date_format(now, _string_literal(tree.arguments[1]) or "").encode())
    if isinstance(tree, syntax.Call) and tree.name == "STR_TO_DATE":
        value = evaluate_constant(text).text
        return Datum("datetime" if " " in value else "date", value.encode())
    return None


OTHER_NOW_FUNCTIONS = ("NOW", "LOCALTIME", "LOCALTIMESTAMP", "CURDATE")
LITERALS = {**dict.fromkeys(("int", "uint", "decimal", "real"), "number"), "null": "null", "string": "string"}
"""Kinds of literals by kinds of values."""


def evaluate_default(default: syntax.ColumnDefault, column: str) -> syntax.ColumnDefault:
    """Return the default of SET DEFAULT as a literal or a call. Raises DdlError.

    A function call stays an expression; of the functions for the current time, only CURRENT_TIMESTAMP is allowed. Any
    other expression is evaluated at once (TiDB: pkg/ddl/ddl_api.go, SetDefaultValue, getDefaultValue).
    """
    if default.kind != "expression":
        return default
    tree = parse_expression(default.text)
    if isinstance(tree, syntax.ContextExpression) and tree.kind == "a sequence":
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
