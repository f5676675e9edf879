"""Names and strings as TiDB writes them back into a statement.

One law: what is written here reads back as the same name or string.
"""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name between back-quotes (TiDB: pkg/parser/format/format.go, RestoreNameBackQuotes)."""
    return "`" + name.replace("`", "``") + "`"


def string(text: str) -> str:
    """A string between single quotes, its backslashes left alone, as values of options are."""
    return "'" + text.replace("'", "''") + "'"


def literal(text: str, charset: str = "") -> str:
    """A string literal of an expression: backslashes doubled, the charset as its introducer in capitals.

    TiDB: pkg/types/parser_driver/value_expr.go. Comments of columns and defaults are such literals too.
    """
    introducer = f"_{charset.upper()}" if charset else ""
    return introducer + string(text.replace("\\", "\\\\"))
