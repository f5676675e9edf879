"""Column definitions as TiDB writes them back.

One law: options keep their order; OPTIONS has the words of each (TiDB: pkg/parser/ast/ddl.go, ColumnOption.Restore).
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from simulator.tidb.restore.checks import restored_check, restored_references
from simulator.tidb.restore.names import column, feature
from simulator.tidb.restore.restoring import literal, string
from simulator.tidb.restore.types import restored_type
from simulator.tidb.syntax.definitions import ColumnOption, ColumnSyntax


def restored_column(syntax: ColumnSyntax) -> str:
    """The column's name, type and options."""
    options = (f" {OPTIONS[option.kind](option)}" for option in syntax.options)
    return f"{column(syntax.name, syntax.qualifier)} {restored_type(syntax.type)}{''.join(options)}"


def restored_clustering(clustered: bool) -> str:
    """CLUSTERED or NONCLUSTERED, which only TiDB reads."""
    return feature("CLUSTERED" if clustered else "NONCLUSTERED", "clustered_index")


def primary(option: ColumnOption) -> str:
    clustered = "" if option.clustered is None else f" {restored_clustering(option.clustered)}"
    return f"PRIMARY KEY{clustered}{scope(option)}"


def scope(option: ColumnOption) -> str:
    """LOCAL is what TiDB does anyway, and never written."""
    return " GLOBAL" if option.scope == "GLOBAL" else ""


def default(option: ColumnOption) -> str:
    return f"DEFAULT {option.default.restored}" if option.default else ""


def on_update(option: ColumnOption) -> str:
    return f"ON UPDATE {option.expression.restored}" if option.expression else ""


def generated(option: ColumnOption) -> str:
    expression = option.expression.restored if option.expression else ""
    return f"GENERATED ALWAYS AS({expression}) {'STORED' if option.stored else 'VIRTUAL'}"


def auto_random(option: ColumnOption) -> str:
    bits = f"({', '.join(map(str, option.numbers))})" if option.numbers else ""
    return feature(f"AUTO_RANDOM{bits}", "auto_rand")


OPTIONS: MappingProxyType[str, Callable[[ColumnOption], str]] = MappingProxyType({
    "not null": lambda _: "NOT NULL",
    "null": lambda _: "NULL",
    "default": default,
    "on update": on_update,
    "auto_increment": lambda _: "AUTO_INCREMENT",
    "auto_random": auto_random,
    "primary": primary,
    "unique": lambda option: f"UNIQUE KEY{scope(option)}",
    "comment": lambda option: f"COMMENT {literal(option.text)}",
    "collate": lambda option: f"COLLATE {option.text}",
    "generated": generated,
    "check": lambda option: restored_check(option.check) if option.check else "",
    "references": lambda option: restored_references(option.references) if option.references else "",
    "column_format": lambda option: f"COLUMN_FORMAT {option.text}",
    "storage": lambda option: f"STORAGE {option.text}",
    "engine_attribute": lambda option: f"ENGINE_ATTRIBUTE = {string(option.text)}",
    "secondary_engine_attribute": lambda option: f"SECONDARY_ENGINE_ATTRIBUTE = {string(option.text)}",
})
