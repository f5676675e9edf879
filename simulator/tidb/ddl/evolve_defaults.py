"""Defaults of columns: what a definition may say, and what rows older than the column hold in it.

One law: an origin default is TiDB text of the column's type: its default, else the zero of a type that is NOT NULL
(TiDB: pkg/ddl/column.go, generateOriginDefaultValue; pkg/table/column.go, GetZeroValue).
"""

from __future__ import annotations

from simulator.errors import SchemaError
from simulator.tidb.ddl.defaults import default_text, number_text
from simulator.tidb.ddl.evolve_errors import tidb
from simulator.tidb.ddl.moments import is_date
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.syntax.definitions import DefaultSyntax

NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


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
        span = 1 << BITS[type.name]
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
        return is_date(text)
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
