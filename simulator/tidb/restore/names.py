"""Names as TiDB writes them back, qualified where the statement qualifies them.

One law: the name's case is the statement's.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.definitions import TableName


def table(name: TableName) -> str:
    return f"{quoted(name.schema)}.{quoted(name.name)}" if name.schema else quoted(name.name)


def tables(names: Iterable[TableName]) -> str:
    return ", ".join(map(table, names))


def column(name: str, qualifier: str = "") -> str:
    """`qualifier` is what stands before the last dot."""
    return ".".join(map(quoted, (*qualifier.split("."), name))) if qualifier else quoted(name)


def feature(text: str, name: str = "") -> str:
    """Text as a comment that only a TiDB with the feature reads (TiDB: pkg/parser/format/format.go)."""
    return f"/*T![{name}] {text} */" if name else f"/*T! {text} */"


def words(*parts: str) -> str:
    """The parts that are not empty, a blank between them."""
    return " ".join(part for part in parts if part)
