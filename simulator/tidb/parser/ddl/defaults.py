"""Parse the values of DEFAULT, ON UPDATE and SET DEFAULT of a column.

After DEFAULT, TiDB accepts literals, the current time, the next value of a sequence and function calls, with or without
parentheses, and no other expression (TiDB v8.5: pkg/parser/parser.y, DefaultValueExpr). ALTER COLUMN … SET DEFAULT
accepts any expression in parentheses (AlterTableSpec).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.clauses import begins_literal, parse_signed_literal
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions.operators import parse_expression, text_in_any_mode
from simulator.tidb.restore.names import quote_name, restore_table_name
from simulator.tidb.syntax.definitions import ColumnDefault, Expression

NOW = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "NOW")
TODAY = ("CURRENT_DATE", "CURDATE")
CALL_ONLY = ("NOW", "CURDATE")


def parse_literal_default(cursor: Cursor) -> ColumnDefault:
    """Parse the value of DEFAULT; raises SchemaError."""
    if cursor.word() == "(":
        return cursor.sequence("(", parse_parenthesised_default, ")")[0]
    return parse_signed_literal(cursor) if begins_signed(cursor) else parse_call(cursor)


def parse_parenthesised_default(cursor: Cursor) -> ColumnDefault:
    """Parse `uuid()`, `(uuid())`, `1` or a column name, which TiDB parses and refuses later."""
    if begins_signed(cursor):
        return replace(parse_signed_literal(cursor), parenthesised=True)
    if cursor.accept("("):
        call = parse_parenthesised_default(cursor) if cursor.word() == "(" else parse_call(cursor)
        cursor.expect(")")
        return call
    if cursor.word_after() == ")" and cursor.word() not in NOW + TODAY:
        name = cursor.name("a function, a literal or a column")
        return ColumnDefault("expression", name, quote_name(name), parenthesised=True)
    return parse_call(cursor)


def begins_signed(cursor: Cursor) -> bool:
    return cursor.word() in ("+", "-") or begins_literal(cursor)


def parse_call(cursor: Cursor) -> ColumnDefault:
    """Parse a function call. TiDB writes all but CURRENT_TIMESTAMP back in parentheses."""
    start = cursor.next_token()
    if cursor.word() in NOW + TODAY:
        now = parse_now(cursor)
        restored = now.restored if now.restored.startswith("CURRENT_TIMESTAMP") else f"({now.restored})"
        return ColumnDefault("expression", now.text, restored)
    restored = _parse_function_or_sequence(cursor)
    text = text_in_any_mode(cursor, start, restored, _parse_function_or_sequence)
    return ColumnDefault("expression", text, f"({restored})")


def _parse_function_or_sequence(cursor: Cursor) -> str:
    return parse_sequence(cursor) or parse_function(cursor)


def parse_now(cursor: Cursor) -> Expression:
    """Parse CURRENT_TIMESTAMP or a synonym, with or without its precision, or CURRENT_DATE."""
    start, word = cursor.next_token(), cursor.word()
    if word not in NOW + TODAY:
        cursor.unexpected("CURRENT_TIMESTAMP, or one of its synonyms", NOW)
    cursor.take()
    digits = ""
    if word in CALL_ONLY or cursor.word() == "(":
        cursor.expect("(")
        digits = "" if cursor.word() == ")" or word in TODAY else str(cursor.count("the digits of a second"))
        cursor.expect(")")
    name = "CURRENT_DATE" if word in TODAY else "CURRENT_TIMESTAMP"
    return Expression(cursor.text_since(start), f"{name}({digits})")


def parse_sequence(cursor: Cursor) -> str:
    """Parse `NEXT VALUE FOR s` or `NEXTVAL(s)`, and return it as TiDB writes it back, or "" if neither comes."""
    if called := cursor.word_after() == "(" and cursor.accept("NEXTVAL"):
        cursor.expect("(")
    elif not cursor.accept("NEXT VALUE FOR"):
        return ""
    sequence = cursor.qualified_name("a sequence")
    if called:
        cursor.expect(")")
    return f"NEXTVAL({restore_table_name(sequence)})"


def parse_function(cursor: Cursor) -> str:
    """Parse `name(argument, …)`, and return it as TiDB writes it back."""
    name = cursor.take() if cursor.word() == "REPLACE" else cursor.name("a literal or a function").upper()
    if cursor.accept("( )"):
        return f"{name}()"
    arguments = cursor.parenthesised_list(lambda cursor: parse_expression(cursor).restored)
    return f"{name}({', '.join(arguments)})"


def parse_default(cursor: Cursor) -> ColumnDefault:
    """Parse the value of ALTER COLUMN … SET DEFAULT. Parentheses around a literal have no meaning."""
    if not cursor.accept("("):
        if not begins_signed(cursor):
            cursor.unexpected("a literal, or an expression in parentheses")
        return parse_signed_literal(cursor)
    if begins_literal(cursor) and cursor.word_after() == ")":
        default = parse_signed_literal(cursor)
    else:
        expression = parse_expression(cursor)
        default = ColumnDefault("expression", expression.text, expression.restored)
    cursor.expect(")")
    return default
