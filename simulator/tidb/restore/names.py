"""Names and strings as TiDB writes them back into a statement.

One law: what is written here reads back as the same name or string; a name's case is the statement's.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.tidb.syntax.definitions import TableName


def quote_name(name: str) -> str:
    """A name between back-quotes (TiDB: pkg/parser/format/format.go, RestoreNameBackQuotes)."""
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    """A string between single quotes, its backslashes left alone, as values of options are."""
    return "'" + text.replace("'", "''") + "'"


def quote_literal(text: str, charset: str = "") -> str:
    """A string literal of an expression: backslashes doubled, the charset as its introducer in capitals.

    TiDB: pkg/types/parser_driver/value_expr.go. Comments of columns and defaults are such literals too.
    """
    introducer = f"_{charset.upper()}" if charset else ""
    return introducer + quote_string(text.replace("\\", "\\\\"))


def restore_table_name(name: TableName) -> str:
    return f"{quote_name(name.schema)}.{quote_name(name.name)}" if name.schema else quote_name(name.name)


def restore_table_names(names: Iterable[TableName]) -> str:
    return ", ".join(map(restore_table_name, names))


def restore_column_name(name: str, qualifier: str = "") -> str:
    """`qualifier` is what stands before the last dot."""
    return ".".join(map(quote_name, (*qualifier.split("."), name))) if qualifier else quote_name(name)


def feature_comment(text: str, name: str = "") -> str:
    """Text as a comment that only a TiDB with the feature reads (TiDB: pkg/parser/format/format.go)."""
    return f"/*T![{name}] {text} */" if name else f"/*T! {text} */"


def join_words(*parts: str) -> str:
    """The parts that are not empty, a blank between them."""
    return " ".join(part for part in parts if part)
