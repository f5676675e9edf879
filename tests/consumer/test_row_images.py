"""Row images by columns equal the TiDB text of each decoded row."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracle.replay import _texts, before_texts
from support.oracle.state import HIDDEN
from support.vectors.files import DEFAULT as VECTORS
from support.vectors.files import vectors

from simulator.consumer.decode import RowEvent, decode
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.decode.row_images import row_images
from simulator.consumer.frame import RECORD_SCHEMA, UNKNOWN_CELL
from simulator.errors import UserError
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table, visible_columns

Texts = dict[str, "str | None"]
NULLS = frozenset(("string", "text", "enum"))
FIDELITIES = (
    Fidelity(),
    Fidelity(nulls=NULLS, old_nulls=NULLS, whole_seconds=True),
    Fidelity(old_nulls=frozenset(("text",))),
)


def image(texts: Texts | None, table: Table) -> bytes | None:
    """As an image has them."""
    if texts is None:
        return None
    found = (texts.get(column.name, HIDDEN) for column in visible_columns(table))
    return b"\xff".join(
        b"\xfe" if text is None else UNKNOWN_CELL if text == HIDDEN else text.encode("utf-8", "surrogatepass")
        for text in found
    )


def read_all(messages: Sequence[tuple[bytes | None, bytes]], tables: Sequence[Table]) -> list[list[list[bytes | None]]]:
    """Images of the one row of each message, for each of FIDELITIES."""
    decoding = StreamDecoder()
    batch = decoding.decoded(
        pa.RecordBatch.from_pylist(
            [{"offset": place, "key": key, "value": value} for place, (key, value) in enumerate(messages)],
            RECORD_SCHEMA,
        )
    )
    return [
        [
            [side[0].as_py() for side in row_images(batch.slice(place, 1), decoding.layouts[layout], table, fidelity)]
            for fidelity in FIDELITIES
        ]
        for place, (layout, table) in enumerate(zip(batch.column("layout").to_pylist(), tables, strict=True))
    ]


def read(key: bytes | None, value: bytes, table: Table, *fidelities: Fidelity) -> list[list[bytes | None]]:
    """Images of the one row of a message."""
    decoding = StreamDecoder()
    batch = decoding.decoded(pa.RecordBatch.from_pylist([{"offset": 0, "key": key, "value": value}], RECORD_SCHEMA))
    return [
        [side[0].as_py() for side in row_images(batch, decoding.layouts[0], table, fidelity)] for fidelity in fidelities
    ]


@pytest.mark.slow
def test_every_row_of_ticdc_has_the_texts_of_its_event() -> None:
    """This holds for all releases and both protocols, including unknown values."""
    parsed = cache(create_table)
    seen = 0
    for path in sorted(Path(VECTORS).glob("rows.*.jsonl*")):
        found = [
            (
                vector.name,
                parsed(vector.data["create_table"], vector.data["schema"]),
                message["key"] and b64decode(message["key"]),
                b64decode(message["value"]),
            )
            for vector in vectors(path)
            for message in vector.data["messages"]
        ]
        names, tables, keys, values = zip(*found)
        messages = list(zip(keys, values, strict=True))
        for name, table, message, read in zip(names, tables, messages, read_all(messages, tables), strict=True):
            (event,) = decode(*message)
            assert isinstance(event, RowEvent)
            for fidelity, got in zip(FIDELITIES, read, strict=True):
                sides = before_texts(event, table, fidelity), _texts(event.after, table, fidelity)
                wanted = [image(texts, table) for texts in sides]
                assert _doubted(wanted, got), (path.name, name)
                seen += got == wanted
    assert seen > 3000


def _doubted(wanted: list[bytes | None], found: list[bytes | None]) -> bool:
    """Equal but for NULL, which may stand for a zero value, and old NULLs, where the new value stands for an old one."""
    for one, other in zip(wanted, found):
        if one is None or other is None:
            if one is not other:
                return False
            continue
        for cell, said in zip(one.split(b"\xff"), other.split(b"\xff"), strict=True):
            if cell != said and {cell, said} != {b"\xfe", UNKNOWN_CELL}:
                return False
    return True


def insert(columns: bytes) -> tuple[bytes, bytes]:
    """An INSERT of Open Protocol."""
    head, value = b'{"ts":7,"scm":"s","tbl":"t","t":1}', b'{"u":{%s}}' % columns
    frame = (1).to_bytes(8, "big") + len(head).to_bytes(8, "big") + head
    return frame, len(value).to_bytes(8, "big") + value


@pytest.mark.parametrize(
    ("columns", "create", "expected"),
    [
        (b'"b":{"t":3,"f":0,"v":2},"a":{"t":3,"f":1,"v":1}', "a INT PRIMARY KEY, b INT", b"1\xff2"),
        (b'"a":{"t":3,"f":1,"v":1}', "a INT PRIMARY KEY, b INT", b"1\xff\xfd"),
        (b'"a":{"t":247,"f":1,"v":2},"b":{"t":248,"f":1,"v":3}', "a ENUM('x','y'), b SET('p','q')", b"y\xffp,q"),
        (b'"a":{"t":247,"f":1,"v":0},"b":{"t":248,"f":1,"v":null}', "a ENUM('x','y'), b SET('p','q')", b"\xff\xfe"),
        (b'"a":{"t":15,"v":"w6k="}', "a VARBINARY(9)", "Ã©".encode()),
        (b'"a":{"t":15,"v":"w6k="}', "a VARCHAR(9)", "é".encode()),
        (b'"a":{"t":15,"v":"/w=="}', "a VARBINARY(9)", "ÿ".encode()),
        (b'"a":{"t":252,"f":1,"v":"/w=="}', "a BLOB", "ÿ".encode()),
        (b'"a":{"t":252,"f":1,"v":"w6k="}', "a TEXT", "é".encode()),
    ],
)
def test_cells_have_the_order_and_texts_of_the_table(columns: bytes, create: str, expected: bytes) -> None:
    """ENUM and SET numbers become names, and the table tells which columns are bytes if messages do not."""
    assert [[None, expected]] == read(*insert(columns), create_table(f"CREATE TABLE s.t ({create})"), Fidelity())


@pytest.mark.parametrize(
    ("columns", "create", "why"),
    [
        (b'"z":{"t":3,"f":1,"v":1}', "a INT", "s.t has no column 'z'"),
        (b'"a":{"t":247,"f":1,"v":3}', "a ENUM('x','y')", "'3' is no member of its ENUM"),
    ],
)
def test_columns_that_do_not_fit_the_table_are_rejected(columns: bytes, create: str, why: str) -> None:
    """The error equals that of a single row."""
    with pytest.raises(UserError, match=why):
        read(*insert(columns), create_table(f"CREATE TABLE s.t ({create})"), Fidelity())
