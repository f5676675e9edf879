"""A column definition as a column of an existing table: its type, its default, what rows older than it hold in it.

One law: TiDB's own words for sizes, charsets, members and defaults that it refuses. An origin default is TiDB text of
the column's type: its default, else the zero of a type that is NOT NULL (TiDB: pkg/ddl/add_column.go, pkg/parser/types;
pkg/ddl/column.go, generateOriginDefaultValue; pkg/table/column.go, GetZeroValue).
"""

from __future__ import annotations

from simulator.errors import SchemaError
from simulator.tidb.ddl.create.defaults import default_text, number_text
from simulator.tidb.ddl.create.table import build_column
from simulator.tidb.ddl.create.types import build_type
from simulator.tidb.ddl.steps import KnownTable
from simulator.tidb.ddl.tidb_errors import refused, tidb
from simulator.tidb.model.charsets import ALIASES, CHARSETS, collation
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, INTEGER_BITS, TYPES, family, is_binary
from simulator.tidb.syntax.definitions import ColumnSyntax, DefaultSyntax
from simulator.tidb.values import spellings


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


NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")


def default_of(syntax: DefaultSyntax, column: Column) -> tuple[str | None, bool]:
    """The default's text and whether it is an expression; raises DdlError."""
    kind = family(column.type)
    if kind in ("text", "json") and syntax.kind not in ("null", "expression"):
        raise tidb("ddl:1101", column.name)
    code = "ddl:1067" if kind in ("enum", "set", "date", "datetime") else "types:1067"
    try:
        text, is_expression = default_text(syntax, column.type, "")
    except SchemaError as error:
        raise tidb(code, column.name) from error
    if text is not None and not is_expression and not fits(text, column.type):
        raise tidb(code, column.name)
    return text, is_expression


def fits(text: str, type: ColumnType) -> bool:
    """Whether a literal's TiDB text is a value of the type."""
    kind = family(type)
    if kind == "integer":
        span = 1 << INTEGER_BITS[type.name]
        low, high = (0, span) if type.unsigned else (-span // 2, span // 2)
        return low <= int(text) < high
    if kind in ("decimal", "float") and type.unsigned and text.startswith("-"):
        return False
    if kind == "decimal":
        return len(text.lstrip("-").partition(".")[0].lstrip("0")) <= type.length - type.decimal
    if kind == "year":
        return int(text) == 0 or 1901 <= int(text) <= 2155
    if kind == "bit":
        return 0 <= int(text) < 1 << type.length
    if kind in ("date", "datetime"):
        return spellings.in_calendar(text)
    return kind != "string" or len(text) <= type.length


def origin_default(column: Column, now: str) -> str | None:
    """What rows that were there before the column read in it; None for NULL and for generated columns.

    `now` is the time of the statement with six digits of a second. Raises DdlError for a default that TiDB computes
    row by row.
    """
    if column.generated:
        return None
    if column.default is not None and column.default_expression:
        return moment(column, now)
    if column.default is None and column.not_null:
        return zero(column.type)
    return column.default


def moment(column: Column, now: str) -> str:
    """The value of CURRENT_TIMESTAMP and CURRENT_DATE; raises DdlError for any other function."""
    call = (column.default or "").partition("(")[0].strip().upper()
    kind = family(column.type)
    if "NEXTVAL" in call or call.startswith("NEXT VALUE"):
        raise tidb("ddl:8230", column.name)
    if kind == "datetime" and call in NOW:
        return now[:19] + (now[19:20 + column.type.decimal] if column.type.decimal else "")
    if kind == "date" and call in ("CURRENT_DATE", "CURDATE", *NOW):
        return now[:10]
    raise tidb("ddl:1674")


def zero(type: ColumnType) -> str:
    """The value that NOT NULL columns without a default give to older rows."""
    kind = family(type)
    fraction = "." + "0" * type.decimal if type.decimal > 0 else ""
    if kind == "decimal":
        return number_text("0", type.decimal) or "0"
    if kind == "string":
        return "\0" * type.length if type.name == "char" and is_binary(type) else ""
    if kind == "enum":
        return type.elements[0]
    times = {"date": "0000-00-00", "datetime": "0000-00-00 00:00:00" + fraction, "time": "00:00:00" + fraction}
    rest = {"float": "0.0", "json": "null", "text": "", "set": "", "vector": "[]"}
    return times.get(kind) or rest.get(kind, "0")
