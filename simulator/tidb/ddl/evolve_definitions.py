"""A column definition as a column of an existing table.

One law: TiDB's own words for sizes, charsets and members that it refuses (TiDB: pkg/ddl/add_column.go,
pkg/parser/types).
"""

from __future__ import annotations

from simulator.tidb.ddl.build import build_column
from simulator.tidb.ddl.build_types import build_type
from simulator.tidb.ddl.evolve_defaults import default_of
from simulator.tidb.ddl.evolve_errors import refused, tidb
from simulator.tidb.ddl.evolve_steps import KnownTable
from simulator.tidb.model.charsets import ALIASES, CHARSETS, collation
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import TYPES, family
from simulator.tidb.syntax.definitions import ColumnSyntax


MOST_ROOM = ("latin1", "latin1_bin")
"""Of a column whose table is not known: it may have any character set, and this one lets the longest columns be."""


def built_column(syntax: ColumnSyntax, known: KnownTable, charset: tuple[str, str]) -> Column:
    """The column of the definition; `charset` is the table's with its collation. Raises DdlError."""
    check_definition(syntax, charset)
    with refused("types:1105"):
        return build_column(syntax, charset, known.text)


def check_definition(syntax: ColumnSyntax, charset: tuple[str, str]) -> None:
    """Raises DdlError, in TiDB's words where they are known, for a column that no table can have."""
    check_charset(syntax)
    check_sizes(syntax, charset)
    check_members(syntax, syntax.collation or charset[1])
    with refused("types:1105"):
        type = build_type(syntax.type, syntax.collation, charset, f"column {syntax.name!r}")
    if syntax.default is not None:
        value, _ = default_of(syntax.default, Column(syntax.name, type))
        if value is None and (syntax.null is False or syntax.auto_increment):
            raise tidb("types:1067", syntax.name)
    if syntax.on_update and family(type) != "datetime":
        raise tidb("ddl:1294", syntax.name)


def check_sizes(syntax: ColumnSyntax, charset: tuple[str, str]) -> None:
    """Lengths, digits and widths (TiDB: checkColumnAttributes, checkColumnFieldLength; pkg/parser/types)."""
    type, kind = syntax.type, TYPES[syntax.type.name].family
    if type.name == "varchar":
        named = ALIASES.get(type.charset.lower(), type.charset.lower()) or (
            collation(syntax.collation).partition("_")[0] if syntax.collation else charset[0]
        )
        if type.length > (most := 65535 // CHARSETS[named][1]):
            raise tidb("types:1074", syntax.name, most)
    if type.name == "char" and type.length > 255:
        raise tidb("types:1074", syntax.name, 255)
    if kind == "decimal" and type.length > 65:
        raise tidb("types:1426", type.length, syntax.name, 65)
    if kind == "decimal" and type.decimal > 30:
        raise tidb("types:1425", type.decimal, syntax.name, 30)
    if kind in ("decimal", "float") and 0 < type.length < type.decimal:
        raise tidb("types:1427", syntax.name)
    if kind == "integer" and type.length > 255 or kind == "bit" and type.length > 64:
        raise tidb("types:1439", syntax.name, 64 if kind == "bit" else 255)


def check_members(syntax: ColumnSyntax, collation: str) -> None:
    """No member of an ENUM or SET is there twice."""
    seen: set[str] = set()
    for member in syntax.type.elements:
        folded = member.lower() if collation.lower().endswith("_ci") else member
        if folded in seen:
            raise tidb("types:1291", syntax.name, member, syntax.type.name.upper())
        seen.add(folded)


def check_charset(syntax: ColumnSyntax) -> None:
    """Character set and collation are known, and belong together."""
    named = ALIASES.get(syntax.type.charset.lower(), syntax.type.charset.lower())
    if named and named not in CHARSETS:
        raise tidb("ddl:1115", syntax.type.charset)
    wanted = collation(syntax.collation) if syntax.collation else ""
    if wanted and wanted.partition("_")[0] not in CHARSETS:
        raise tidb("ddl:1273", syntax.collation)
    if wanted and named and wanted.partition("_")[0] != named:
        raise tidb("ddl:1253", wanted, named)
