"""Parse the parts that many statements share: names, settings, literals and simple expressions."""

from __future__ import annotations

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.model.types import canonical_charset, canonical_collation, charset_of
from simulator.tidb.parser.atoms import parse_atom
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.literals import LITERALS
from simulator.tidb.parser.operators import parse_bit_node, parse_expression_with, parse_parenthesised
from simulator.tidb.restore.expressions import restore_node

LOCK_AND_ALGORITHM = {
    "ALGORITHM": ("DEFAULT", "COPY", "INPLACE", "INSTANT"),
    "LOCK": ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE"),
}


# -- names, words and settings ------------------------------------------------------------------------------------


def parse_column_name(cursor: Cursor, what: str = "the name of a column") -> tuple[str, str]:
    """Parse `c`, `t.c` or `d.t.c`, and return the part before the last dot and the column's own name."""
    *qualifiers, name = cursor.dotted_name(what)
    return ".".join(qualifiers), name


def accept_charset(cursor: Cursor) -> bool:
    """Consume CHARSET, CHARACTER SET or CHAR SET if it comes next, and return whether it did."""
    return any(cursor.accept(phrase) for phrase in ("CHARSET", "CHARACTER SET", "CHAR SET"))


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


def parse_setting(cursor: Cursor, *words: str) -> str:
    """Parse `= word` or `word`, which must be one of `words`."""
    cursor.accept("=")
    return cursor.one_of(*words)


def parse_lock_or_algorithm(cursor: Cursor, name: str) -> str:
    """Parse the value of LOCK or ALGORITHM; raises SchemaError for a word that TiDB does not know."""
    cursor.accept("=")
    words = LOCK_AND_ALGORITHM[name]
    if cursor.is_name() and cursor.word() not in words:
        unknown = f"LOCK type '{cursor.literal()}'" if name == "LOCK" else f"ALGORITHM '{name.lower()}'"
        raise SchemaError(f"Unknown {unknown}", number=1801 if name == "LOCK" else 1800)
    return cursor.one_of(*words)


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


def not_simulated_error(what: str, accepted: str) -> SqlError:
    """Return the error for a statement that TiDB executes and the simulator does not."""
    return SqlError(1235, "42000", f"{what} is not simulated. Accepted: {accepted}")


# -- literals and expressions -------------------------------------------------------------------------------------


def begins_literal(cursor: Cursor) -> bool:
    return cursor.kind() in LITERALS or cursor.word() in ("NULL", "TRUE", "FALSE", ".")


def parse_literal(cursor: Cursor, what: str = "a string, a number, TRUE, FALSE or NULL") -> syntax.ColumnDefault:
    """Parse a literal without a sign; raises SchemaError."""
    if not begins_literal(cursor):
        cursor.unexpected(what)
    node = parse_atom(cursor)
    assert isinstance(node, syntax.Literal)
    kind = "number" if node.kind in ("integer", "decimal", "float") else node.kind
    text = node.text.upper() if kind in ("null", "boolean") else node.text
    return syntax.ColumnDefault(kind, text, restore_node(node))


def parse_signed_literal(cursor: Cursor) -> syntax.ColumnDefault:
    """Parse a literal, or a number with a sign; raises SchemaError."""
    if cursor.word() not in ("+", "-"):
        return parse_literal(cursor)
    sign, at = cursor.take(), cursor.next_token()
    number = parse_literal(cursor)
    if number.kind != "number":
        cursor.fail("a sign stands before a number only", at)
    return syntax.ColumnDefault("number", sign.strip("+") + number.text, sign + number.restored)


def parse_closed_parentheses(cursor: Cursor) -> syntax.Expression:
    """Parse `( expression )`; raises SchemaError at the parenthesis if it is never closed."""
    if cursor.word() == "(" and cursor.closing_ahead(0) < 0:
        cursor.fail("this '(' has no ')'")
    return parse_parenthesised(cursor)


def parse_bit_expression(cursor: Cursor) -> syntax.Expression:
    """Parse an expression without comparisons and logic, as in partition definitions; raises SchemaError."""
    return parse_expression_with(cursor, parse_bit_node)
