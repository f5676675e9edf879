"""Quote names and strings as TiDB does."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.tidb import syntax


def quote_name(name: str) -> str:
    """Return a name between back-quotes (TiDB: pkg/parser/format/format.go, RestoreNameBackQuotes)."""
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    """Return a string between single quotes with unescaped backslashes, as in values of options."""
    return "'" + text.replace("'", "''") + "'"


def quote_literal(text: str, charset: str = "") -> str:
    """Return a string literal of an expression, a column comment or a default: with escaped backslashes and introducer.

    TiDB: pkg/types/parser_driver/value_expr.go.
    """
    introducer = f"_{charset.upper()}" if charset else ""
    return introducer + quote_string(text.replace("\\", "\\\\"))


def restore_table_name(name: syntax.TableName) -> str:
    return f"{quote_name(name.schema)}.{quote_name(name.name)}" if name.schema else quote_name(name.name)


def restore_table_names(names: Iterable[syntax.TableName]) -> str:
    return ", ".join(map(restore_table_name, names))


def restore_column_name(name: str, qualifier: str = "") -> str:
    """Return a quoted column name. `qualifier` is the part before the last dot."""
    return ".".join(map(quote_name, (*qualifier.split("."), name))) if qualifier else quote_name(name)


def feature_comment(text: str, name: str = "") -> str:
    """Return a comment that only a TiDB with the feature executes (TiDB: pkg/parser/format/format.go)."""
    return f"/*T![{name}] {text} */" if name else f"/*T! {text} */"


def join_words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def if_exists(written: bool) -> str:
    return "IF EXISTS" if written else ""


def if_not_exists(written: bool) -> str:
    return "IF NOT EXISTS" if written else ""
