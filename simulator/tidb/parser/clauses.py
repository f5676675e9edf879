"""Parse the parts that many statements share: names, settings, literals and simple expressions."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from sqlglot.tokens import TokenType

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.model.charsets import canonical_charset, canonical_collation, charset_of
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.expressions.atoms import parse_atom
from simulator.tidb.parser.expressions.literals import MAX_UNSIGNED
from simulator.tidb.parser.expressions.operators import parse_bit_node, parse_expression_with, parse_parenthesised
from simulator.tidb.restore.expressions import restore_node

LOCK_AND_ALGORITHM = MappingProxyType(
    {"ALGORITHM": ("DEFAULT", "COPY", "INPLACE", "INSTANT"), "LOCK": ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE")}
)
NUMBERS = ("integer", "decimal", "float")


# -- names, words and settings ------------------------------------------------------------------------------------


def parse_column_name(cursor: Cursor, what: str = "the name of a column") -> tuple[str, str]:
    """Parse `c`, `t.c` or `d.t.c`, and return the part before the last dot and the column's own name."""
    names = [cursor.name(what)]
    while len(names) < 3 and cursor.accept("."):
        names.append(cursor.name(what))
    return ".".join(names[:-1]), names[-1]


def parse_charset_name(cursor: Cursor) -> str:
    """Parse a character set, and return its name as TiDB stores it."""
    where = position(cursor.sql, cursor.next_token().start)
    return canonical_charset(cursor.name_or_string("a character set"), where)


def parse_collation_name(cursor: Cursor) -> str:
    """Parse a collation of a known character set, and return its name as TiDB stores it."""
    where = position(cursor.sql, cursor.next_token().start)
    name = cursor.name_or_string("a collation")
    charset_of(name, where)
    return canonical_collation(name)


def parse_restrict_or_cascade(cursor: Cursor) -> str:
    """Parse an optional RESTRICT or CASCADE. TiDB parses and ignores it."""
    return cursor.take() if cursor.word() in ("RESTRICT", "CASCADE") else ""


def parse_one_of(cursor: Cursor, words: Sequence[str]) -> str:
    """Parse the first of the words or phrases that fits; raises SchemaError."""
    word = next((word for word in words if cursor.accept(word)), "")
    if not word:
        cursor.unexpected(", ".join(words), words)
    return word


def parse_setting(cursor: Cursor, words: Sequence[str]) -> str:
    """Parse `= word` or `word`, which must be one of `words`."""
    cursor.accept("=")
    return parse_one_of(cursor, words)


def parse_lock_or_algorithm(cursor: Cursor, name: str) -> str:
    """Parse the value of LOCK or ALGORITHM; raises SchemaError for a word that TiDB does not know."""
    cursor.accept("=")
    words = LOCK_AND_ALGORITHM[name]
    if cursor.is_name() and cursor.word() not in words:
        unknown = f"LOCK type '{cursor.literal()}'" if name == "LOCK" else f"ALGORITHM '{name.lower()}'"
        raise SchemaError(f"Unknown {unknown}", number=1801 if name == "LOCK" else 1800)
    return parse_one_of(cursor, words)


def parse_lock_and_algorithm(cursor: Cursor) -> tuple[str, str]:
    """Parse ALGORITHM and LOCK after a statement on an index, each at most once, in any order."""
    values = {"ALGORITHM": "", "LOCK": ""}
    while (word := cursor.word()) in values and not values[word]:
        cursor.take()
        values[word] = parse_lock_or_algorithm(cursor, word)
    return values["ALGORITHM"], values["LOCK"]


def parse_location_labels(cursor: Cursor) -> tuple[str, ...]:
    """Parse the optional `LOCATION LABELS 'zone', 'rack'` of a TiFlash replica."""
    return cursor.comma_list(Cursor.string) if cursor.accept("LOCATION LABELS") else ()


# -- literals and expressions -------------------------------------------------------------------------------------


def begins_literal(cursor: Cursor) -> bool:
    if cursor.kind() in ("string", "number", "hex", "bit", "introducer"):
        return True
    return cursor.word() in ("NULL", "TRUE", "FALSE", ".")


def parse_literal(cursor: Cursor) -> syntax.ColumnDefault:
    """Parse a literal without a sign; raises SchemaError."""
    if not begins_literal(cursor):
        cursor.unexpected("a string, a number, TRUE, FALSE or NULL")
    node = parse_atom(cursor)
    assert isinstance(node, syntax.Literal)
    kind = "number" if node.kind in NUMBERS else node.kind
    return syntax.ColumnDefault(
        kind, node.text.upper() if kind in ("null", "boolean") else node.text, restore_node(node)
    )


def parse_signed_literal(cursor: Cursor) -> syntax.ColumnDefault:
    """Parse a literal, or a number with a sign; raises SchemaError."""
    if cursor.word() not in ("+", "-"):
        return parse_literal(cursor)
    sign, at = cursor.take(), cursor.next_token()
    number = parse_literal(cursor)
    if number.kind != "number":
        cursor.fail("a sign stands before a number only", at)
    return syntax.ColumnDefault("number", sign.strip("+") + number.text, sign + number.restored)


def parse_number(cursor: Cursor) -> str:
    """Parse a number without a sign, and return it as TiDB writes it back; raises SchemaError."""
    if cursor.kind() != "number" and cursor.word() != ".":
        cursor.unexpected("a number")
    return parse_literal(cursor).restored


def parse_plain_string(cursor: Cursor, what: str = "a string in quotes") -> str:
    """Parse a string without an introducer, as options and comments have it; raises SchemaError."""
    if cursor.kind() != "string" or cursor.next_token().token_type is TokenType.NATIONAL_STRING:
        cursor.unexpected(what)
    return cursor.literal()


def parse_count(cursor: Cursor, what: str = "a whole number") -> int:
    """Parse an unsigned integer of at most 64 bits; raises SchemaError."""
    token = cursor.next_token()
    number = cursor.integer(what)
    if number > MAX_UNSIGNED or len(token.text.lstrip("0")) > len(str(MAX_UNSIGNED)):
        cursor.fail(f"{token.text[:40]} is too large; accepted: up to {MAX_UNSIGNED}", token)
    return number


def parse_closed_parentheses(cursor: Cursor) -> syntax.Expression:
    """Parse `( expression )`; raises SchemaError at the parenthesis if it is never closed."""
    if cursor.word() == "(" and cursor.closing_ahead(0) < 0:
        cursor.fail("this '(' has no ')'")
    return parse_parenthesised(cursor)


def parse_bit_expression(cursor: Cursor) -> syntax.Expression:
    """Parse an expression without comparisons and logic, as in partition definitions; raises SchemaError."""
    return parse_expression_with(cursor, parse_bit_node)


def parse_parenthesised_bit_expression(cursor: Cursor) -> syntax.Expression:
    """Parse `( expression )` with `parse_bit_expression`; raises SchemaError."""
    cursor.expect("(")
    expression = parse_bit_expression(cursor)
    cursor.expect(")")
    return expression
