"""Datums, which are values with TiDB's kinds (tidb pkg/types/datum.go), and the problems of their casts.

`cast.cast_value` casts one datum to a column's type, TiDB's CastValue; `cast.cast_column` casts whole columns, and
returns TiDB text and the problems by row. A column of datums is an Arrow array of structs of a kind and a body in bytes,
or a list while no kernel needs it.

A problem is TiDB's error before a statement completes it. INSERT names the column and row
(pkg/executor/insert_common.go, completeInsertErr), UPDATE sometimes does (pkg/executor/update.go, handleErr), and
INSERT … SELECT never. The texts are those of pkg/errno/errname.go and pkg/types/errors.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.model.types import INTEGER_BITS, ColumnType, family, is_binary

DATUMS = pa.struct([pa.field("kind", pa.string()), pa.field("body", pa.binary())])

NAMES = {
    "int": "bigint",
    "uint": "unsigned bigint",
    **dict.fromkeys(("string", "gbk", "bytes"), "char"),
    "literal": "bit/hex literal",
    **{kind: kind for kind in ("decimal", "double", "float", "bit", "enum", "set", "json", "time")},
    **dict.fromkeys(("date", "datetime", "timestamp"), "datetime"),
}
"""The names of kinds in errors (pkg/types/etc.go, KindStr).

`bytes` is a binary string, `gbk` a text of that charset, `literal` a hexadecimal or bit literal. The body is TiDB's
text, except the bytes of `bytes`, `literal` and `bit`, and the number, a colon and the members of `enum` and `set`.
"""


class Datum(NamedTuple):
    kind: str
    body: bytes


def datums(kind: str, body: pa.Array) -> pa.StructArray:
    """Return datums of one kind, null where the body is null."""
    body = body.cast(pa.binary())
    return pa.StructArray.from_arrays(
        [pa.repeat(pa.scalar(kind, pa.string()), len(body)), body], fields=list(DATUMS), mask=body.is_null()
    )


def datums_of(cells: Iterable[Datum | None]) -> pa.StructArray:
    cells = list(cells)
    kinds = pa.array([cell and cell.kind for cell in cells], pa.string())
    body = pa.array([None if cell is None else cell.body for cell in cells], pa.binary())
    return pa.StructArray.from_arrays([kinds, body], fields=list(DATUMS), mask=body.is_null())


def nulls(rows: int) -> pa.StructArray:
    return datums("string", pa.nulls(rows, pa.binary()))


def datum_list(values: pa.StructArray) -> list[Datum | None]:
    """Return the datums of an array, None for NULL."""
    kinds, bodies = values.field(0).to_pylist(), values.field(1).to_pylist()
    return [None if body is None else Datum(kind, body) for kind, body in zip(kinds, bodies, strict=True)]


def as_datums(type: ColumnType, values: pa.Array) -> pa.StructArray:
    """Convert Arrow's values to datums: integers to integers, bytes to strings (`tagged` for a BIT, as in files)."""
    if values.type == DATUMS:
        return values
    if pa.types.is_integer(values.type):
        return datums("int", values.cast(pa.string()))
    values = values.cast(pa.binary())
    if type.name == "bit":
        is_number = pc.starts_with(values, b"n")
        kinds = pc.if_else(is_number, "uint", "literal")
        body = pc.binary_slice(values, 1, 2**31 - 1)
        return pa.StructArray.from_arrays([kinds, body], fields=list(DATUMS), mask=values.is_null())
    return datums("bytes" if is_binary(type) else "string", values)


def tagged_bodies(type: ColumnType, values: pa.StructArray) -> pa.Array:
    """Return the bodies of datums as files have them: tagged for a BIT."""
    body = values.field(1)
    if type.name != "bit":
        return body
    tag = pc.if_else(pc.is_in(values.field(0), pa.array(["int", "uint", "decimal", "double"])), b"n", b"x")
    return pc.binary_join_element_wise(tag, body, b"")


def cell_kind(type: ColumnType) -> str:
    """Return the kind of a type's values."""
    match family(type):
        case "integer":
            return "uint" if type.unsigned else "int"
        case "string" | "text" | "vector":
            return "bytes" if is_binary(type) else "gbk" if type.charset == "gbk" else "string"
        case "year":
            return "int"
        case "float" | "datetime":
            return type.name
        case kind:
            return kind


def cell_datum(type: ColumnType, cell: bytes) -> Datum:
    """Return the datum of a stored TiDB text. A TIMESTAMP is in the session's time zone."""
    kind = cell_kind(type)
    if kind == "bytes":
        return Datum(kind, cell.decode().encode("latin-1"))
    if kind == "bit":
        return Datum(kind, int(cell).to_bytes((max(type.length, 1) + 7) // 8, "big"))
    if type.zerofill and type.name in INTEGER_BITS:
        return Datum(kind, str(int(cell)).encode())
    if kind == "double":
        return Datum(kind, repr(float(cell)).encode())
    if kind in ("enum", "set"):
        text = cell.decode()
        if kind == "enum":
            number = type.elements.index(text) + 1 if text in type.elements else 0
        else:
            number = sum(1 << type.elements.index(member) for member in text.split(",")) if text else 0
        return Datum(kind, b"%d:%s" % (number, cell))
    return Datum(kind, cell)


def datum_text(datum: Datum) -> str:
    """Return a datum's text in errors: that of a float has no exponent (pkg/types/datum.go, ToString)."""
    if datum.kind in ("enum", "set"):
        return datum.body.partition(b":")[2].decode()
    if datum.kind in ("double", "float"):
        number = np.float32(datum.body) if datum.kind == "float" else np.float64(datum.body)
        return np.format_float_positional(number, unique=True, trim="-")
    return datum.body.decode("utf-8", "replace")


def number_of_members(datum: Datum) -> int:
    return int(datum.body.partition(b":")[0])


def float_value(datum: Datum) -> float:
    """Return the float of a double or a float."""
    return float(np.float32(datum.body)) if datum.kind == "float" else float(datum.body)


SHOWN = 128
"""The number of characters of a value in an error (`%-.128s`)."""

TRUNCATIONS = frozenset((1264, 1265, 1292, 1366, 1406, 1441, 1690, 8029, 8033))
"""Errors that are warnings in non-strict modes (pkg/types/truncate.go, HandleTruncate)."""

NOT_SIMULATED = 1235


class CastProblem(NamedTuple):
    number: int
    text: str
    name: str
    """`overflow`, `too long`, `truncated`, `wrong value`, `out of range`, `characters` or `other_problem`."""

    forced: bool = False
    """Whether it remains an error in UPDATE IGNORE."""


TRUNCATED = CastProblem(1265, "Data truncated for column '%s' at row %d", "truncated")
OUT_OF_RANGE = CastProblem(1264, "Out of range value for column '%s' at row %d", "out of range")


def overflow(what: str, value: str) -> CastProblem:
    return CastProblem(1690, f"{what} value is out of range in '{value}'", "overflow")


def overflows(value: object, type: ColumnType) -> CastProblem:
    """Return the problem of a constant that is out of range (pkg/types/etc.go, overflow)."""
    return CastProblem(1690, f"constant {value} overflows {type.name}", "overflow")


def too_long(length: int, size: int) -> CastProblem:
    return CastProblem(1406, f"Data Too Long, field len {length}, data len {size}", "too long")


def truncated_value(what: str, value: str) -> CastProblem:
    return CastProblem(1292, f"Truncated incorrect {what[:64]} value: '{value[:SHOWN]}'", "wrong value")


def incorrect_value(what: str, value: str) -> CastProblem:
    return CastProblem(1292, f"Incorrect {what[:32]} value: '{value[:SHOWN]}'", "wrong value")


def inconvertible(datum: Datum, type: ColumnType) -> CastProblem:
    """Return the problem of a kind that cannot be converted to the type (pkg/types/datum.go, invalidConv)."""
    return CastProblem(1105, f"cannot convert datum from {NAMES[datum.kind]} to type {type.name}", "other")


def other_problem(number: int, text: str) -> CastProblem:
    return CastProblem(number, text, "other")


# -- modes ----------------------------------------------------------------------------------------------------------------


STRICT = frozenset(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))


class Mode(NamedTuple):
    """The flags of INSERT and UPDATE (tidb pkg/executor/executor.go, ResetContextOfStmt)."""

    sql_mode: frozenset[str]
    zone: tzinfo = UTC
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """The time of the statement. A TIME is converted to a DATETIME of that day."""

    ignore: bool = False
    """Whether the statement has IGNORE."""

    inserting: bool = True
    """Whether it is INSERT … VALUES or INSERT … SELECT, with IGNORE for all problems."""

    loading: bool = False
    """Whether it is LOAD DATA, for which sql_mode does not refuse zero dates."""

    @property
    def strict(self) -> bool:
        return not STRICT.isdisjoint(self.sql_mode)

    @property
    def lenient(self) -> bool:
        """Whether truncation is a warning."""
        return self.ignore or not self.strict

    @property
    def any_day(self) -> bool:
        return "ALLOW_INVALID_DATES" in self.sql_mode

    @property
    def zero_in_date(self) -> bool:
        """Whether a parsed month or day may be zero."""
        return self.lenient or self.any_day or not {"NO_ZERO_DATE", "NO_ZERO_IN_DATE"} <= self.sql_mode

    def forgives(self, problem: CastProblem) -> bool:
        """Whether a problem is a warning."""
        if problem.number == NOT_SIMULATED:
            return False
        if self.ignore and self.inserting:
            return True
        return self.lenient and problem.number in TRUNCATIONS and not problem.forced


STRICT_MODE = Mode(frozenset(("STRICT_TRANS_TABLES",)))
