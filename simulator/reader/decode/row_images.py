"""Converts decoded rows of one layout to TiDB text in the columns of their table, by columns.

Each different value of a column is converted once. Columns that already have TiDB's text are not touched. The table
provides only what messages lack: the names of ENUM and SET members, and the types of Kafka Connect's values, as Debezium
has them. Some of these stand for several texts of TiDB: a DECIMAL of more digits than its float has, and 1970 in a column
without NULL, which is also written for dates that do not exist. They are unknown cells. A table whose definition is
unknown is derived from its layout.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import UPDATE, ints
from simulator.errors import NotSimulatedError, UserError
from simulator.reader.events import LOST, UNKNOWN_CELL, Layout, Value
from simulator.releases import Release
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.mounter import has_zone, old_cells, to_local
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import INTERNAL_COLUMNS, Column, Table, visible_columns
from simulator.tidb.model.types import TYPES, ColumnType, exceeds_int64, family, is_binary


def value_text(value: Value, column: Column) -> str | None:
    """Return the TiDB text of a value; bytes as Latin-1 text.

    A binary column whose text has U+FFFD, which is not in Latin-1, has lost bytes: Canal-JSON before 5.4 writes such
    columns as text. Raises UserError for a number that is no member of the ENUM or SET.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1") if is_binary(column.type) else value.decode("utf-8", "surrogateescape")
    if is_binary(column.type):
        return value if LOST in value else value.encode("utf-8").decode("latin-1")
    read = MEMBERS.get(column.type.name)
    return value if read is None else read(value, column)


def _enum(value: str, column: Column) -> str:
    names = ("", *column.type.elements)
    if not value.isdecimal() and value in names:
        return value  # of an older row (`ticdc.mounter`)
    if not value.isdecimal() or int(value) >= len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no member of its ENUM, 0 to {len(names) - 1} are")
    return names[int(value)]


def _set(value: str, column: Column) -> str:
    names = column.type.elements
    if not value.removeprefix("-").isdecimal() and {*value.split(",")} <= {"", *names}:
        return value  # of an older row
    is_number = value.removeprefix("-" if len(names) == MOST_MEMBERS else "").isdecimal()
    number = int(value) if is_number else -1
    if not is_number or number < -1 << MOST_MEMBERS - 1 or number > 0 and number >> len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no value of its SET, 0 to {(1 << len(names)) - 1} are")
    return ",".join(name for bit, name in enumerate(names) if number >> bit & 1)


MOST_MEMBERS = 64
"""Of a SET; its last one is the sign where a message has a signed integer (Simple in Avro)."""


MEMBERS: Mapping[str, Callable[[str, Column], str]] = {"enum": _enum, "set": _set}

CODES = {row.code: row.name for row in TYPES.values()} | {253: "varchar"}
"""Open Protocol's type codes; 253 is VARBINARY's in some releases."""

BINARY_NAMES = {row.binary_name: row.name for row in TYPES.values() if row.binary_name}


def table_from_layout(layout: Layout) -> Table:
    """Return the table. The layout's key becomes its primary key, and ENUM and SET values stay numbers."""
    columns = tuple(
        Column(name, _type(kind, binary), not_null=name in layout.keys)
        for name, kind, binary in zip(layout.names, layout.types, layout.binary, strict=True)
    )
    return Table(layout.schema, layout.table, columns, primary_key=layout.keys, clustered=True)


def _type(kind: int | str, binary: bool) -> ColumnType:
    """Return the type of an Open Protocol code or a canal mysqlType."""
    if isinstance(kind, int):
        name = CODES.get(kind, "varchar")
    else:
        bare = kind.split("(")[0].split(" ")[0].lower()
        name = BINARY_NAMES.get(bare, bare)
    if name not in TYPES or name in MEMBERS:
        name, binary = "bigint", True
    text = TYPES[name].family in ("string", "text") and not binary
    return ColumnType(name, charset="utf8mb4" if text else "binary", collation="utf8mb4_bin" if text else "binary")


CONNECT = "connect "
"""What the types of such columns begin with in a layout."""

EXACT_DECIMALS = (f"{CONNECT}org.apache.kafka.connect.data.Decimal", f"{CONNECT}string")
"""Types whose values are TiDB's text of a DECIMAL."""

EXACT_DIGITS = 15
"""Any decimal number of so many digits can be read back from a float of 64 bits."""

DIGITS = Context(prec=80)
"""Computes with all digits of a DECIMAL, of which there are 65."""

MILLISECOND_DECIMALS = 3
MICROS = 1_000_000


def is_connect(kind: int | str) -> bool:
    """Whether a column's type in messages is one of Kafka Connect."""
    return str(kind).startswith(CONNECT)


def is_rounded(kind: int | str, column: Column) -> bool:
    """Whether messages may have one number for several values of a column, given its type there: a float for DECIMALs."""
    type = column.type
    return is_connect(kind) and kind not in EXACT_DECIMALS and family(type) == "decimal" and type.length > EXACT_DIGITS


def connect_cells(cells: pa.Array, column: Column, kind: int | str, time_zone: str) -> pa.Array:
    """Return the TiDB texts of a column's texts in messages, each different text converted once; `kind` is the column's
    type there, and TIMESTAMPs are in a zone, UTC if it is empty."""
    if family(column.type) == "decimal" and kind in EXACT_DECIMALS:
        return cells
    encoded = cells.dictionary_encode()
    texts = pa.array([_connect_cell(cell, column) for cell in encoded.dictionary.to_pylist()], pa.binary())
    return (to_local(texts, time_zone) if has_zone(column.type) else texts).take(encoded.indices)


def nearest_decimals(cells: pa.Array, column: Column) -> pa.Array:
    """Return for a column's texts in messages, which may be floats, a DECIMAL that each of them may stand for."""
    encoded = cells.dictionary_encode()
    decimals = [
        cell if cell == UNKNOWN_CELL else nearest_decimal(cell.decode("utf-8", "surrogatepass"), column.type).encode()
        for cell in encoded.dictionary.to_pylist()
    ]
    return pa.array(decimals, pa.binary()).take(encoded.indices)


def _connect_cell(cell: bytes, column: Column) -> bytes:
    if cell == UNKNOWN_CELL:
        return cell
    text = connect_text(cell.decode("utf-8", "surrogatepass"), column)
    return UNKNOWN_CELL if text is None else text.encode("utf-8", "surrogatepass")


def connect_text(text: str, column: Column) -> str | None:
    """Return the TiDB text of a value; None if several have it."""
    type, zero = column.type, column.not_null
    match family(type):
        case "bit":
            return _connect_bits(text, type)
        case "string" | "text":
            return base64.b64decode(text).decode("latin-1") if is_binary(type) else text
        case "date":
            return None if zero and text == "0" else str(np.datetime64(int(text), "D"))
        case "datetime" if type.name == "timestamp":
            return None if zero and text.startswith("1970-01-01T00:00:00") else text.replace("T", " ").removesuffix("Z")
        case "datetime":
            return None if zero and text == "0" else _connect_datetime(int(text), type)
        case "time":
            return _connect_time(int(text), type)
        case "decimal":
            return _connect_decimal(text, type)
        case "integer" if exceeds_int64(type):
            return str(int(text) % (1 << 64))
    return text


def _connect_bits(text: str, type: ColumnType) -> str:
    if type.length == 1:
        return str(int(text == "true"))
    return str(int.from_bytes(base64.b64decode(text), "little"))


def _connect_datetime(number: int, type: ColumnType) -> str:
    micros = number if type.decimal > MILLISECOND_DECIMALS else number * 1000
    moment = str(np.datetime64(micros, "us")).replace("T", " ")
    return moment[: 20 + type.decimal] if type.decimal > 0 else moment[:19]


def _connect_time(micros: int, type: ColumnType) -> str:
    seconds, fraction = divmod(abs(micros), MICROS)
    digits = f".{fraction:06d}"[: 1 + type.decimal] if type.decimal > 0 else ""
    sign = "-" if micros < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{digits}"


def _connect_decimal(text: str, type: ColumnType) -> str | None:
    nearest = nearest_decimal(text, type)
    if type.length > EXACT_DIGITS:
        number, step = Decimal(nearest), Decimal(1).scaleb(-max(type.decimal, 0))
        if float(number) in (float(DIGITS.subtract(number, step)), float(DIGITS.add(number, step))):
            return None
    return nearest


def nearest_decimal(text: str, type: ColumnType) -> str:
    """Return the DECIMAL of the type that is nearest to a float; raises ValueError if there is none."""
    try:
        return format(DIGITS.quantize(Decimal(text), Decimal(1).scaleb(-max(type.decimal, 0))), "f")
    except InvalidOperation:
        raise ValueError(f"{text!r:.60} is no DECIMAL") from None


ZERO_TEXTS: Mapping[str, str] = {
    "string": "^$",
    "text": "^$",
    "enum": "^$",
    "set": "^$",
    "decimal": r"^-?[0.]+$",
    "date": "^....-00|^....-..-00",
    "datetime": "^....-00|^....-..-00",
    "time": "^-?[0:.]+$",
}
"""By families of types (`Fidelity.nulls`), the texts of values that may be sent as NULL."""


STRINGS = ("string", "text")
"""The families of which the text `null` may be sent as NULL (`Fidelity.null_word`)."""


def with_nulls(images: pa.Array, names: Sequence[str], like_null: Mapping[str, str]) -> pa.Array:
    """Return images (binary, null for no row) whose cells in some columns are NULL if their text matches the regular
    expression of the column."""
    columns = {names.index(name): text for name, text in like_null.items() if name in names}

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place, text in columns.items():
            matches = pc.fill_null(pc.match_substring_regex(cells[place], text), False)
            cells[place] = pc.if_else(matches, pa.scalar(None, pa.binary()), cells[place])
        return cells

    return row_image.with_columns(images, len(names), change) if columns else images


def with_cells(images: pa.Array, table: Table, cells: Mapping[str, bytes | None]) -> pa.Array:
    """Return images (binary, null for no row) with these cells in some columns."""
    columns = visible_columns(table)

    def change(found: list[pa.Array]) -> list[pa.Array]:
        return [
            pa.repeat(pa.scalar(cells[column.name], pa.binary()), len(own)) if column.name in cells else own
            for column, own in zip(columns, found, strict=True)
        ]

    return row_image.with_columns(images, len(columns), change)


def with_values(images: pa.Array, names: Sequence[str], values: Mapping[str, str]) -> pa.Array:
    """Return images (binary, null for no row) with values for the NULLs of some columns."""

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        pairs = zip(names, cells, strict=True)
        return [pc.fill_null(each, values[name].encode()) if name in values else each for name, each in pairs]

    return row_image.with_columns(images, len(names), change)


def row_images(rows: pa.RecordBatch, layout: Layout, table: Table, fidelity: Fidelity) -> tuple[pa.Array, pa.Array]:
    """Return the images before and after of rows (EVENT_SCHEMA) of a layout: TiDB text of the table's visible columns.

    A cell is 0xFD if the message does not contain it, or contains a text that may stand for several values; NULL stays,
    where it stands for one of ZERO_TEXTS, too, but not in the handle key. An old NULL of an UPDATE is unknown if that of a changed column would be.
    Raises UserError for a column that the table lacks, and for a number that is no member of its ENUM or SET;
    NotSimulatedError for TiDB's columns of tables with SOFTDELETE, of which TiCDC's CREATE TABLE does not tell.
    """
    columns = {column.name: column for column in table.columns}
    unknown = [name for name in layout.names if name not in columns]
    if unknown:
        if {*unknown} <= {*INTERNAL_COLUMNS}:
            raise NotSimulatedError(f"no statement tells that it has {' and '.join(unknown)}: --truth does")
        raise UserError(f"{table.schema}.{table.name} has no column {unknown[0]!r}; it has {', '.join(columns)}")
    updates = ints(rows, "op") == UPDATE
    return (
        _image(rows.column("before"), layout, table, fidelity, updates),
        _image(rows.column("after"), layout, table, fidelity, np.zeros(len(rows), np.bool_)),
    )


def _image(
    images: pa.Array, layout: Layout, table: Table, fidelity: Fidelity, old: np.typing.NDArray[np.bool_]
) -> pa.Array:
    columns = visible_columns(table)
    places = {name: place for place, name in enumerate(layout.names)}
    binary_columns = dict(zip(layout.names, layout.binary, strict=True))
    kinds = dict(zip(layout.names, layout.types, strict=True))
    connect, keys = {name: is_connect(kind) for name, kind in kinds.items()}, handle_key(table)
    stays = tuple(column.name for column in columns) == layout.names and not any(
        connect[column.name] or _needs_conversion(column, binary_columns[column.name], fidelity) for column in columns
    )
    if stays or images.null_count == len(images):
        return images
    there = images.drop_null()
    cut = row_image.split(there, len(layout.names))
    updated = old[images.is_valid().to_numpy(zero_copy_only=False)]
    unknown = pa.repeat(pa.scalar(UNKNOWN_CELL), len(there))
    converted = row_image.pack(
        [
            unknown
            if column.name not in places
            else _with_nulls(
                connect_cells(cut.cells(places[column.name]), column, kinds[column.name], fidelity.time_zone)
                if connect[column.name]
                else _texts(cut.cells(places[column.name]), column, binary_columns[column.name], fidelity),
                column,
                fidelity,
                updated,
                column.name in keys,
            )
            for column in columns
        ]
    )
    return row_image.restore_nulls(converted, images)


def _needs_conversion(column: Column, as_bytes: bool, fidelity: Fidelity) -> bool:
    kind = family(column.type)
    return (
        (column.type.name in MEMBERS and not fidelity.member_names)
        or as_bytes != is_binary(column.type)
        or kind in fidelity.nulls | fidelity.old_nulls
        or fidelity.null_word
        and kind in STRINGS
        or _loses_seconds(column, fidelity)
    )


def _loses_seconds(column: Column, fidelity: Fidelity) -> bool:
    return fidelity.whole_seconds and family(column.type) == "time" and column.type.decimal > 0


def _texts(cells: pa.Array, column: Column, as_bytes: bool, fidelity: Fidelity) -> pa.Array:
    if _loses_seconds(column, fidelity):
        return pc.if_else(pc.is_valid(cells), pa.scalar(UNKNOWN_CELL), cells)
    if column.type.name in MEMBERS and fidelity.member_names:
        return cells
    if is_binary(column.type) and fidelity.base64_bytes:
        return _convert_distinct(cells, _from_base64)
    if column.type.name in MEMBERS or as_bytes != is_binary(column.type):
        return _convert_distinct(cells, lambda cell: _text(cell, column, as_bytes))
    return cells


def _with_nulls(
    cells: pa.Array, column: Column, fidelity: Fidelity, old: np.typing.NDArray[np.bool_], is_key: bool
) -> pa.Array:
    kind, unknown = family(column.type), pa.scalar(UNKNOWN_CELL)
    is_like_null = kind in fidelity.nulls or fidelity.null_word and kind in STRINGS
    if is_like_null and (is_key or kind not in ZERO_TEXTS):
        return pc.fill_null(cells, unknown)
    if kind in fidelity.old_nulls - fidelity.nulls:
        return pc.if_else(pc.and_(pc.is_null(cells), pa.array(old)), unknown, cells)
    return cells


def _convert_distinct(cells: pa.Array, text: Callable[[bytes], bytes | None]) -> pa.Array:
    encoded = cells.dictionary_encode()
    return pa.array([text(cell) for cell in encoded.dictionary.to_pylist()], pa.binary()).take(encoded.indices)


def _from_base64(cell: bytes) -> bytes:
    return cell if cell == UNKNOWN_CELL else base64.b64decode(cell, validate=True).decode("latin-1").encode()


def _text(cell: bytes, column: Column, as_bytes: bool) -> bytes | None:
    if cell == UNKNOWN_CELL:
        return cell
    value: Value = cell.decode("utf-8", "surrogatepass")
    assert isinstance(value, str)
    if as_bytes and LOST not in value:
        value = value.encode("latin-1")
    elif is_binary(column.type) and not value.isascii() and LOST not in value:
        value = value.encode("utf-8", "surrogateescape")
    text = value_text(value, column)
    return None if text is None else text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class ImagesOfReleases:
    """Converts rows to images as `row_images` does, where one of some releases wrote them. Old values of rows that are older
    than a column may be others than those that the rows have (`ticdc.mounter`): they are unknown."""

    releases: tuple[Release, ...]
    zone: str
    """Of TIMESTAMPs in rows; empty for UTC."""

    @classmethod
    def of(cls, releases: Iterable[Release], zone: str) -> ImagesOfReleases:
        """Return the images of rows of any of the releases."""
        alike = {(release.older_rows, release.older_timestamps_in_utc): release for release in releases}
        return cls(tuple(alike.values()), zone)

    def __call__(
        self, rows: pa.RecordBatch, layout: Layout, table: Table, fidelity: Fidelity
    ) -> tuple[pa.Array, pa.Array]:
        before, after = row_images(rows, layout, table, fidelity)
        for release in self.releases:
            before = _with_unknown_cells(before, table, release, self.zone)
        return before, after


def _with_unknown_cells(images: pa.Array, table: Table, release: Release, zone: str) -> pa.Array:
    """Return old images in which a cell is unknown if it is what the release has of an older row."""
    fillers = old_cells(table, release, zone)
    columns = visible_columns(table)

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place, column in enumerate(columns):
            if column.name in fillers:
                doubtful = _may_be(cells[place], fillers[column.name])
                if column.not_null:
                    doubtful = pc.or_(doubtful, cells[place].is_null())  # a JSON
                if family(column.type) == "bit" or is_binary(column.type):
                    doubtful = pa.repeat(pa.scalar(True), len(cells[place]))  # bytes that are no UTF-8 may be lost
                cells[place] = pc.if_else(doubtful, pa.scalar(UNKNOWN_CELL), cells[place])
        return cells

    return row_image.with_columns(images, len(columns), change) if fillers else images


def _may_be(cells: pa.Array, text: bytes | None) -> pa.Array:
    return cells.is_null() if text is None else pc.fill_null(pc.equal(cells, text), False)
