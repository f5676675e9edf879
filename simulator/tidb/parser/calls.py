"""Parse function calls, in all forms of TiDB's grammar.

A function keeps its name, in upper case, unless TiDB's parser renames it.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.tidb import syntax
from simulator.tidb.model.types import canonical_charset
from simulator.tidb.parser.aggregates import AGGREGATES, WINDOWS, parse_aggregate, parse_window
from simulator.tidb.parser.cursor import FUNCTIONS, NOT_CALLED, RESERVED, Cursor
from simulator.tidb.parser.tokens import parse_unit
from simulator.tidb.restore import restore_node, restore_table_name

ACCEPTED = "BINARY, CHAR, DATE, DATETIME, DECIMAL, DOUBLE, FLOAT, JSON, REAL, SIGNED, TIME, UNSIGNED, VECTOR or YEAR"


def parse_cast_type(cursor: Cursor) -> str:
    """Parse the type of CAST or CONVERT, and return it as TiDB writes it back; raises SchemaError."""
    word = cursor.word()
    if word in ("BINARY", "CHAR", "CHARACTER"):
        cursor.take()
        length = _parse_type_lengths(cursor, 1)
        return f"BINARY{length}" if word == "BINARY" else _parse_char_type(cursor, length)
    if word in ("SIGNED", "UNSIGNED"):
        cursor.take()
        cursor.accept("INTEGER") or cursor.accept("INT")
        return word
    if word in ("DATETIME", "TIME"):
        cursor.take()
        return word + _parse_type_lengths(cursor, 1)
    if word in ("DECIMAL", "DEC"):
        cursor.take()
        return "DECIMAL" + (_parse_type_lengths(cursor, 2) if cursor.word() == "(" else "(10)")
    if word in ("FLOAT", "VECTOR"):
        return _parse_float_or_vector(cursor)
    if word not in ("DATE", "YEAR", "JSON", "DOUBLE", "REAL"):
        cursor.unexpected(ACCEPTED)
    cursor.take()
    real = "FLOAT" if cursor.real_is_float else "DOUBLE"
    return real if word == "REAL" else word


def _parse_float_or_vector(cursor: Cursor) -> str:
    """Parse FLOAT(p), which means DOUBLE above 24 bits, or VECTOR(n). TiDB does not write the numbers back."""
    at, word = cursor.next_token(), cursor.take()
    if word == "VECTOR" and cursor.accept("<"):
        cursor.expect("FLOAT")
        cursor.expect(">")
    if cursor.word() != "(":
        return word
    numbers = cursor.parenthesised_list(Cursor.integer)
    if word == "FLOAT" and numbers[0] > 53:
        cursor.fail("FLOAT takes at most 53 bits", at)
    return "DOUBLE" if word == "FLOAT" and numbers[0] > 24 else word


def _parse_type_lengths(cursor: Cursor, most: int) -> str:
    """Parse an optional `(3)` or `(10, 2)`. Zero counts as missing."""
    if cursor.word() != "(":
        return ""
    at = cursor.next_token()
    numbers = cursor.parenthesised_list(Cursor.integer)
    if len(numbers) > most:
        cursor.fail(f"this type takes no {len(numbers)} numbers", at)
    if not numbers[0]:
        return ""
    return f"({', '.join(str(number) for number in numbers if number)})"


def _parse_char_type(cursor: Cursor, length: str) -> str:
    """Parse the charset after CHAR."""
    binary = cursor.accept("BINARY")
    name = ""
    if any(cursor.accept(phrase) for phrase in ("CHARSET", "CHARACTER SET", "CHAR SET")):
        name = canonical_charset(cursor.name_or_string("a character set"), "CAST")
        binary = binary or cursor.accept("BINARY")
    if binary or name == "binary":
        return f"BINARY{length}"
    return f"CHAR{length} CHARSET {name.upper()}" if name not in ("", "utf8mb4") else f"CHAR{length}"


def parse_arguments(cursor: Cursor) -> tuple[syntax.Node, ...]:
    """Parse `( expression, … )` or `()`."""
    return () if cursor.accept("( )") else cursor.parenthesised_list(cursor.grammar.expression)


def _parse_cast(cursor: Cursor, name: str) -> syntax.Cast:
    (operand,) = cursor.sequence("(", cursor.grammar.expression, "AS")
    type = parse_cast_type(cursor)
    array = " ARRAY" if cursor.accept("ARRAY") else ""
    cursor.expect(")")
    return syntax.Cast(operand, type + array)


def _parse_sum_crc32(cursor: Cursor, name: str) -> syntax.Node:
    cast = _parse_cast(cursor, name)
    if not cast.type.endswith(" ARRAY"):
        cursor.fail(f"{name} takes an ARRAY")
    return syntax.ContextExpression(restore_node(cast).replace("CAST", name, 1), name)


def _parse_convert(cursor: Cursor, name: str) -> syntax.Node:
    (operand,) = cursor.sequence("(", cursor.grammar.expression)
    if cursor.accept("USING"):
        return syntax.Call(name, (operand, _parse_using_charset(cursor)))
    (type,) = cursor.sequence(",", parse_cast_type, ")")
    return syntax.Cast(operand, type, convert=True)


def _parse_using_charset(cursor: Cursor) -> syntax.Node:
    """Parse the charset after USING, and the `)`."""
    name = canonical_charset(cursor.name_or_string("a character set"), "USING")
    cursor.expect(")")
    return syntax.Literal("string", name)


def _parse_char(cursor: Cursor, name: str) -> syntax.Node:
    cursor.expect("(")
    arguments = cursor.comma_list(cursor.grammar.expression)
    if cursor.accept("USING"):
        return syntax.Call("CHAR_FUNC", (*arguments, _parse_using_charset(cursor)))
    cursor.expect(")")
    return syntax.Call("CHAR_FUNC", (*arguments, syntax.Literal("null", "NULL")))


def _parse_column_function(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `VALUES(column)` or `DEFAULT(column)`."""
    (parts,) = cursor.sequence("(", lambda cursor: cursor.dotted_name("a column"), ")")
    column = syntax.ColumnName(parts)
    return syntax.DefaultValue(column) if name == "DEFAULT" else syntax.InsertedValue(column)


def _parse_substring(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `SUBSTRING(x, 1, 2)` or `SUBSTRING(x FROM 1 FOR 2)`."""
    cursor.expect("(")
    arguments = [cursor.grammar.expression(cursor)]
    second = "FOR" if cursor.accept("FROM") else ","
    if second == ",":
        cursor.expect(",")
    arguments.append(cursor.grammar.expression(cursor))
    if cursor.accept(second):
        arguments.append(cursor.grammar.expression(cursor))
    cursor.expect(")")
    return syntax.Call(name, tuple(arguments))


def _parse_trim(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `TRIM(x)`, `TRIM(y FROM x)`, `TRIM(LEADING y FROM x)` or `TRIM(LEADING FROM x)`."""
    cursor.expect("(")
    side = cursor.take() if cursor.word() in ("BOTH", "LEADING", "TRAILING") else ""
    first: syntax.Node = syntax.Literal("string", " ", cursor.charset)
    if not side or cursor.word() != "FROM":
        first = cursor.grammar.expression(cursor)
    if not side and cursor.accept(")"):
        return syntax.Call(name, (first,))
    (text,) = cursor.sequence("FROM", cursor.grammar.expression, ")")
    return syntax.Call(name, (text, first, syntax.Word(side)) if side else (text, first))


def _parse_weight_string(cursor: Cursor, name: str) -> syntax.Node:
    cursor.expect("(")
    text = cursor.grammar.expression(cursor)
    if cursor.accept(")"):
        return syntax.Call(name, (text,))
    cursor.expect("AS")
    if cursor.word() not in ("CHAR", "CHARACTER", "BINARY"):
        cursor.unexpected("CHAR or BINARY")
    kind = "BINARY" if cursor.take() == "BINARY" else "CHAR"
    (length,) = cursor.parenthesised_list(Cursor.integer)
    cursor.expect(")")
    return syntax.Call(name, (text, syntax.Word(kind), syntax.Word(str(length))))


def _parse_sequence(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `NEXTVAL(s)`, `LASTVAL(s)` or `SETVAL(s, 5)`."""
    cursor.expect("(")
    sequence, value = cursor.qualified_name("a sequence"), 0
    if name == "SETVAL":
        cursor.expect(",")
        sign = -1 if cursor.word() in ("-", "+") and cursor.take() == "-" else 1
        value = sign * cursor.integer()
    cursor.expect(")")
    return _sequence_call(name, sequence, value)


def _sequence_call(name: str, sequence: syntax.TableName, value: int = 0) -> syntax.ContextExpression:
    written = f", {value}" if name == "SETVAL" else ""
    restored = f"{name}({restore_table_name(sequence)}{written})"
    return syntax.ContextExpression(restored, "a sequence", syntax.SequenceCall(name, sequence, value))


# -- functions of time -----------------------------------------------------------------------------------------


def _parse_optional_parentheses(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `CURRENT_DATE` or `CURRENT_DATE()`."""
    cursor.accept("( )")
    return syntax.Call(name)


def _parse_with_precision(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `CURRENT_TIMESTAMP`, `NOW()` or `NOW(6)`."""
    if not cursor.accept("(") or cursor.accept(")"):
        return syntax.Call(name)
    digits = cursor.integer("a number of digits or ')'")
    cursor.expect(")")
    return syntax.Call(name, (syntax.Literal("integer", str(digits)),))


def _parse_date_arithmetic(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `DATE_ADD(x, INTERVAL 1 DAY)` or `ADDDATE(x, 1)`, which adds days."""
    cursor.expect("(")
    time = cursor.grammar.expression(cursor)
    cursor.expect(",")
    unit = syntax.Word("DAY")
    if cursor.word() == "INTERVAL" and (cursor.word_after() != "(" or name.startswith("DATE_")):
        cursor.take()
        amount = cursor.grammar.expression(cursor)
        unit = parse_unit(cursor)
    elif name.startswith("DATE_"):
        cursor.unexpected("'INTERVAL'")
    else:
        amount = cursor.grammar.expression(cursor)
    cursor.expect(")")
    return syntax.Call(name, (time, amount, unit))


def _parse_extract(cursor: Cursor, name: str) -> syntax.Node:
    return syntax.Call(name, cursor.sequence("(", parse_unit, "FROM", cursor.grammar.expression, ")"))


def _parse_timestamp_arithmetic(cursor: Cursor, name: str) -> syntax.Node:
    """Parse the rest of `TIMESTAMPADD(DAY, 1, x)`."""
    cursor.expect("(")
    at = cursor.next_token()
    unit = parse_unit(cursor)
    if "_" in unit.text:
        cursor.fail(f"{name} takes no unit {unit.text}", at)
    expression = cursor.grammar.expression
    return syntax.Call(name, (unit, *cursor.sequence(",", expression, ",", expression, ")")))


def _parse_get_format(cursor: Cursor, name: str) -> syntax.Node:
    cursor.expect("(")
    kind = cursor.one_of("DATE", "DATETIME", "TIME", "TIMESTAMP")
    (region,) = cursor.sequence(",", cursor.grammar.expression, ")")
    return syntax.Call(name, (syntax.Word("DATETIME" if kind == "TIMESTAMP" else kind), region))


WITHOUT_PRECISION = ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")


WITH_PRECISION = ("CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP")

FORMS: dict[str, Callable[[Cursor, str], syntax.Node]] = {
    **dict.fromkeys(WITHOUT_PRECISION, _parse_optional_parentheses),
    **dict.fromkeys((*WITH_PRECISION, "CURTIME", "SYSDATE"), _parse_with_precision),
    **dict.fromkeys(("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB"), _parse_date_arithmetic),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), _parse_timestamp_arithmetic),
    "CURDATE": lambda cursor, name: syntax.Call(name, cursor.sequence("( )")),
    "EXTRACT": _parse_extract,
    "GET_FORMAT": _parse_get_format,
    **dict.fromkeys(("SUBSTR", "SUBSTRING", "MID"), _parse_substring),
    **dict.fromkeys(("NEXTVAL", "LASTVAL", "SETVAL"), _parse_sequence),
    **dict.fromkeys(("VALUES", "DEFAULT"), _parse_column_function),
    "CAST": _parse_cast,
    "CHAR": _parse_char,
    "CONVERT": _parse_convert,
    "INSERT": lambda cursor, _: syntax.Call("INSERT_FUNC", parse_arguments(cursor)),
    "JSON_SUM_CRC32": _parse_sum_crc32,
    "MOD": lambda cursor, _: syntax.Binary(
        "%", *cursor.sequence("(", cursor.grammar.expression, ",", cursor.grammar.expression, ")")
    ),
    "PASSWORD": lambda cursor, _: syntax.Call("PASSWORD_FUNC", parse_arguments(cursor)),
    "POSITION": lambda cursor, name: syntax.Call(
        name, cursor.sequence("(", cursor.grammar.bit_expression, "IN", cursor.grammar.expression, ")")
    ),
    "TRIM": _parse_trim,
    "WEIGHT_STRING": _parse_weight_string,
}
"""Parsers of functions with a grammar of their own, by name."""

WITHOUT_PARENTHESES = frozenset((*WITHOUT_PRECISION, *WITH_PRECISION, "NEXT"))
"""Functions that need no `()`. NEXT only as NEXT VALUE FOR."""

CALLABLE = frozenset(
    (
        *(*WITHOUT_PRECISION, *WITH_PRECISION),
        *"CONVERT DEFAULT VALUES INSERT MOD CHAR DATABASE SCHEMA IF INTERVAL LEFT REPEAT REPLACE RIGHT".split(),
    )
)
"""Reserved words that name functions before a `(` (pkg/parser/parser.y, FunctionCallKeyword)."""

GENERIC_APART = frozenset(("COUNT", "MID", "SYSDATE", "TRANSLATE"))
"""Functions that have a grammar of their own only if `(` follows the name without a blank."""

TOUCHING = FUNCTIONS - GENERIC_APART
"""Functions whose `(` must follow the name without a blank."""


def is_function(cursor: Cursor) -> bool:
    """Whether the next word, which a `(` follows, is the name of a function."""
    word = cursor.word()
    if word in NOT_CALLED:
        return False
    return cursor.is_name() and (word not in RESERVED or word in CALLABLE or word in WINDOWS)


def parse_call(cursor: Cursor) -> syntax.Node:
    """Parse a call, from its name."""
    word = cursor.word()
    if word == "NEXT":
        return _parse_next_value(cursor)
    touching = cursor.begins_call()
    at = cursor.next_token()
    cursor.take()
    if word in TOUCHING and not touching:
        cursor.fail(f"{word} takes its '(' right after its name", at)
    if word in WINDOWS:
        return parse_window(cursor, word)
    if word in AGGREGATES and (touching or word not in GENERIC_APART):
        return parse_aggregate(cursor, word)
    parser = FORMS.get(word) if touching or word not in GENERIC_APART else None
    return parser(cursor, word) if parser else syntax.Call(word, parse_arguments(cursor))


def _parse_next_value(cursor: Cursor) -> syntax.Node:
    """Parse `NEXT VALUE FOR s`."""
    if not cursor.accept("NEXT VALUE FOR"):
        return syntax.ColumnName((cursor.name(),))
    return _sequence_call("NEXTVAL", cursor.qualified_name("a sequence"))
