"""Decoding by columns gives the same events as decoding each record by itself, and the texts that TiDB had."""

from __future__ import annotations

import base64
import random
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codec_expected import sent
from support.codec_rows import rows
from support.damage import damaged
from support.vectors.files import DEFAULT as VECTORS
from support.vectors.files import Vector, vectors

from simulator.columns.change_frame import DDL, ROW, WATERMARK, ints
from simulator.reader.decode import RowEvent, batches, decode, decoder
from simulator.reader.decode.batches import EventRows, StreamDecoder, possible_statements
from simulator.reader.decode.message_bytes import decode_base64
from simulator.reader.decode.row_images import row_images
from simulator.reader.events import RECORD_SCHEMA, UNKNOWN_CELL, UNREADABLE, Layout, record_batch
from simulator.releases import V8_5
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, TableInfo
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import is_binary

PROTOCOLS = ("open-protocol", "canal-json", "simple", "debezium")


@pytest.fixture(scope="module", autouse=True)
def _few_rows_are_enough() -> Iterator[None]:
    """Rows are read by columns however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LEAST", 1)
        yield


Message = tuple["bytes | None", "bytes | None"]


def recorded(messages: Sequence[Message]) -> pa.RecordBatch:
    """RECORDS with these keys and values."""
    columns = [list(side) for side in zip(*messages)] or [[], []]
    numbers = pa.array(range(100, 100 + len(messages)), pa.int64())
    return pa.RecordBatch.from_arrays(
        [numbers, numbers, *(pa.array(side, pa.binary()) for side in columns)], schema=RECORD_SCHEMA
    )


def rows_in(batch: pa.RecordBatch, layouts: Sequence[Layout]) -> list[dict[str, Any]]:
    """The rows of a batch, their layouts in them, with their columns by name: members may be in any order."""
    batch.validate(full=True)
    return [row if row["layout"] is None else _by_name(row, layouts[row["layout"]]) for row in batch.to_pylist()]


def _by_name(row: dict[str, Any], layout: Layout) -> dict[str, Any]:
    columns = dict(zip(layout.names, zip(layout.types, layout.binary, strict=True), strict=True))
    images = {
        side: row[side] and dict(zip(layout.names, row[side].split(b"\xff"), strict=True))
        for side in ("before", "after")
    }
    return {**row, **images, "layout": (layout.schema, layout.table, columns, {*layout.keys})}


def held_against_decode(messages: Sequence[Message], protocol: str) -> tuple[pa.RecordBatch, Sequence[Layout]]:
    """What both ways of decoding the messages give."""
    records = recorded(messages)
    alone, together = StreamDecoder(protocol), StreamDecoder(protocol)
    expected = EventRows(protocol, alone._layout_index).of_records(records)
    for _ in range(2):  # the second time every shape is known
        found = together.decoded(records)
        for one, other in zip(rows_in(expected, alone.layouts), rows_in(found, together.layouts), strict=True):
            assert one == other, messages[one["offset"] - 100]
    return found, together.layouts


FILES = [path for path in sorted(Path(VECTORS).glob("*.*.jsonl*")) if any(name in path.name for name in PROTOCOLS)]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.name.split(".jsonl")[0] for path in FILES])
def test_every_message_of_ticdc_is_read(path: Path) -> None:
    """By columns as record by record, with an event for each row; rows have the texts that TiDB had, as far as TiCDC sent
    them, and the filter for statements keeps all of these."""
    protocol = next(name for name in PROTOCOLS if name in path.name)
    sent_messages = [(vector, message) for vector in vectors(path) for message in vector.data["messages"]]
    messages = [
        (message["key"] and b64decode(message["key"]), b64decode(message["value"])) for _, message in sent_messages
    ]
    batch, layouts = held_against_decode(messages, protocol)
    assert [max(1, message["rows"]) for _, message in sent_messages] == np.bincount(
        ints(batch, "offset") - 100
    ).tolist()
    if path.name.startswith("rows."):
        for place, (vector, _) in enumerate(sent_messages):
            assert_texts(messages[place], batch.slice(place, 1), layouts, vector)

    left = StreamDecoder(protocol).decoded(possible_statements(recorded(messages), protocol)).to_pylist()
    assert [event for event in batch.to_pylist() if event["kind"] == DDL] == [
        each for each in left if each["kind"] == DDL
    ]
    assert not [
        each for each in left if each["kind"] == ROW and b'"isDdl"' in (messages[each["offset"] - 100][1] or b"")
    ]


parsed = cache(create_table)


def assert_texts(message: Message, decoded: pa.RecordBatch, layouts: Sequence[Layout], vector: Vector) -> None:
    """The images of one row have the values of the vector, as far as they were sent."""
    data, (row,), (event,) = vector.data, decoded.to_pylist(), decode(*message)
    assert isinstance(event, RowEvent)
    layout, table = layouts[row["layout"]], parsed(data["create_table"], data["schema"])
    assert (data["schema"], data["table"]) == (layout.schema, layout.table)
    assert data["commit_ts"] == row["commit_ts"] if row["exact"] else data["commit_ts"] >> 18 == row["commit_ts"] >> 18
    images = row_images(decoded, layout, table, Fidelity())
    for side, told, image in zip(("before", "after"), (event.before, event.after), images, strict=True):
        cells = [] if told is None else image[0].as_py().split(b"\xff")
        for column, cell in zip(visible_columns(table), cells):
            if told is not None and column.name in told:
                wanted = sent(text_of(data[side][column.name], column), column, vector.release, data["protocol"])
                assert comparable(cell, column) == comparable(as_cell(wanted), column), (vector.name, side, column.name)


def text_of(value: Any, column: Column) -> str | None:
    """TiDB text of a vector's value: bytes of binary columns as Latin-1."""
    if value is None:
        return None
    data = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()
    return data.decode("latin-1") if is_binary(column.type) else data.decode("utf-8", "surrogateescape")


def as_cell(text: str | None) -> bytes:
    return b"\xfe" if text is None else text.encode("utf-8", "surrogatepass")


def comparable(cell: bytes, column: Column) -> float | bytes:
    """One form of equal values: numbers; U+FFFD for what is not UTF-8, and an unknown cell for bytes that it stands for."""
    if column.type.name in ("float", "double") and cell != b"\xfe":
        return float(np.float32(cell)) if column.type.name == "float" else float(cell)
    lost = re.sub(rb"\xed[\xb2-\xb3][\x80-\xbf]", "\ufffd".encode(), cell)
    return UNKNOWN_CELL if is_binary(column.type) and "\ufffd".encode() in lost else lost


FIRST_TS = 1_735_689_600_000 << 18
TABLE = create_table(
    "CREATE TABLE `s`.`t` (`id` BIGINT UNSIGNED PRIMARY KEY, `v` VARCHAR(99), `ts` DOUBLE, `data` BLOB, `old` TEXT,"
    " `b` VARBINARY(40), `e` ENUM('a','b'), `a b` DECIMAL(9,2))"
)
TEXTS = (
    st.none()
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
    | st.sampled_from(['"', "\\", '\\"', '":null,', "null", "\n", "é\u2028<&>", "}{", '"v":7', "\\u0041", "a" * 300])
)
BYTES = (
    st.none()
    | st.binary(max_size=9).map(lambda data: data.decode("latin-1"))
    | st.sampled_from(["\\", '"', "\\u00e9", "é\x00", "\u00ad"])
)
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2**64 - 1).map(str),
        "v": TEXTS,
        "ts": st.none() | st.sampled_from(["0", "-0.5", "1e21", "1.5e-7"]),
        "data": BYTES,
        "old": TEXTS,
        "b": BYTES,
        "e": st.sampled_from([None, "a", "b"]),
        "a b": st.sampled_from([None, "-1.50", "0.00"]),
    }
)
CHANGES = st.lists(st.tuples(ROWS, st.none() | ROWS, st.booleans()), min_size=1, max_size=12)


def encoded(changes: Any, protocol: str, together: bool, table: Table = TABLE) -> list[Message]:
    """As TiCDC sends them, with a statement and a watermark in between."""
    codec = CODECS[protocol]
    options = CodecOptions(protocol, enable_tidb_extension=len(changes) % 2 == 0)
    pairs = [(None, new) if insert and other is None else (new, other) for new, other, insert in changes]
    made = codec.encode(rows(table, pairs, first_ts=FIRST_TS), options, V8_5)
    groups = np.zeros(len(pairs), np.int64) if together else np.arange(len(pairs))
    framed = codec.frame(made, groups, options, V8_5)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    found: list[Message] = list(zip(keys, framed.values.to_pylist(), strict=True))
    if codec.bootstrap is not None:
        told = codec.bootstrap(TableInfo(table, 1, 0), 6 << 18, options, V8_5)
        found.insert(0, codec.message(told, options, V8_5))
    for entry in (
        codec.ddl(DdlEvent(7 << 18, "s", "t", "DROP TABLE `t`", 4), options, V8_5),
        codec.watermark(8 << 18, options, V8_5),
    ):
        if entry is not None:
            found.insert(len(found) // 2, codec.message(entry, options, V8_5))
    return found


@pytest.mark.slow
@given(CHANGES, st.sampled_from(PROTOCOLS), st.booleans())
@settings(max_examples=60)
def test_any_row_is_decoded_the_same(changes: Any, protocol: str, together: bool) -> None:
    """This holds for quotes, escapes, column names that are members of messages, NULLs and bytes, with one or several
    events in a message."""
    held_against_decode(encoded(changes, protocol, together), protocol)


@pytest.mark.slow
@given(CHANGES, st.sampled_from(PROTOCOLS), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_damaged_messages_are_rejected_the_same(changes: Any, protocol: str, together: bool, seed: int) -> None:
    """The messages around them are decoded."""
    choice = random.Random(seed)
    messages = encoded(changes, protocol, together)
    found: list[Message] = []
    for key, value in messages:
        found.append((key, value))
        hurt = [key, value]
        side = choice.choice((0, 1, 1, 1)) if key is not None else 1
        text = damaged((hurt[side] or b"").decode("latin-1"), choice)
        hurt[side] = text.encode("latin-1", "replace")
        if side and key is not None and choice.random() < 0.7:
            body = damaged((value or b"")[8:].decode("latin-1"), choice).encode("latin-1", "replace")
            hurt[side] = len(body).to_bytes(8, "big") + body
        found.append((hurt[0], hurt[1]))
    held_against_decode(found, protocol)


ES, TS = b"1735689600043", b"1735689600044"


def other_values(time: bytes) -> Iterator[bytes]:
    """What may stand in place of a time in milliseconds."""
    for place in (0, 7, 12):
        yield from (time[:place] + byte + time[place + 1 :] for byte in (b":", b"/", b"\xb0"))
    yield from (b"0" + time[1:], b'"%s"' % time, time[:-3] + b".5", time + b"000000", b"1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (b'"id":"1"', b'"id":1'),
        (b'"id":"1"', b'"id":'),
        (b'"id":"1"', b'"id":nulL'),
        (b'"id":"1"', b'"ie":"1"'),
        (b'"id":"1"', b'"id":"1","id":"2"'),
        (b'"id":"1"', b'"id":"\\q"'),
        (b'"id":"1"', b'"id":"\xff"'),
        (b'"id":"1"', b'"id":"\t"'),
        (b'"id":"1"', b'"id":"1""'),
        (b'"id":"1"', b'"id":"\\ud800"'),
        *((time, value) for time in (ES, TS) for value in other_values(time)),
        (b'"commitTs":5', b'"commitTs":-5'),
        (b'"commitTs":5', b'"commitTs":null'),
        (b'"b":"\\u0001"', b'"b":"\\u0100"'),
        (b'"b":"\\u0001"', '"b":"Ā"'.encode()),
        (b"}", b"} "),
        (b'{"id":0', b'{"id":1'),
        (b'"pk', b'"Pk'),
        (b'"id":4', b'"id":5'),
        (b'"isDdl":false', b'"isDdl":null'),
        (b'"old":null', b'"old":7'),
    ],
)
def test_a_message_with_a_changed_byte_is_decoded_the_same(text: bytes, changed: bytes) -> None:
    """A message with one changed byte gives the same as `decode`."""
    good = (
        b'{"id":0,"database":"s","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1735689600043'
        b',"ts":1735689600044,"sql":"","sqlType":{"id":4,"b":2004},"mysqlType":{"id":"int","b":"blob"},"old":null,'
        b'"data":[{"id":"1","b":"\\u0001"}],"_tidb":{"commitTs":5}}'
    )
    assert text in good
    for count in (1, -1):
        held_against_decode([(None, good), (None, good.replace(text, changed, count)), (None, good)], "canal-json")


PLAIN = {"id": "1", "v": "a", "ts": "0", "data": None, "old": "", "b": None, "e": "a", "a b": "0.00"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ordinary_rows_are_decoded_by_columns(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary row is decoded by itself."""
    row = {"v": None, "ts": "1.5", "data": "\xff\0", "old": "ä\n", "b": "\xff\\", "e": "a", "a b": None}
    changes = [
        ({**row, "id": str(n), "v": f"v{n}"}, None if n % 2 else {**row, "id": str(n)}, n % 3 == 0) for n in range(30)
    ]
    messages = [message for together in (True, False) for message in encoded(changes, protocol, together)]
    messages += [(key, value + b"\r\n") for key, value in messages if protocol == "canal-json" and value]
    left: list[int] = []

    one_by_one = EventRows.of_records

    def count_slow_records(rows: EventRows, records: pa.RecordBatch) -> pa.RecordBatch:
        left.extend(records.column("offset").to_pylist())
        return one_by_one(rows, records)

    monkeypatch.setattr(EventRows, "of_records", count_slow_records)
    decoded = StreamDecoder().decoded(recorded(messages))
    assert not [
        event for place in left for event in decode(*messages[place - 100], protocol) if isinstance(event, RowEvent)
    ]
    assert 60 < decoded.num_rows


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows_of_tables_with_equal_columns_are_parsed_together(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each is one of its table, although all are one text for the parser."""
    tables = [replace(TABLE, name=f"t{number}") for number in range(6)]
    made = [encoded([({**PLAIN, "v": each.name}, None, True)] * 3, protocol, False, each) for each in tables]
    messages = [message for some in zip(*made, strict=True) for message in some]
    _, layouts = held_against_decode(messages, protocol)
    assert [layout.table for layout in layouts] == [each.name for each in tables]
    parse = Mock(wraps=decoder.pj.read_json)
    monkeypatch.setattr(decoder.pj, "read_json", parse)
    StreamDecoder(protocol).decoded(recorded(messages))
    assert parse.call_count == 1


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (b'"data":[{', b'"data":[[{'),
        (b'"data":[{', b'"data":[{},{'),
        (b'"data":[{', b'"data":['),
        (b'"v":"a"', b'"v":"a","old":null'),
        (b'"v":"a",', b""),
        (b'"v":"a"', b'"v":null'),
        (b'"old":"",', b""),
        (b'"b":null,', b""),
        (b'"b":null', b'"e":null'),
        (b'"commitTs":', b'"commitTs":0'),
        (b'"es":', b'"es":0'),
        (b"}", b"}}"),
        (b'"_tidb":{', b'"_tidb":{"onlyHandleKey":true,'),
    ],
)
def test_a_row_with_other_members_is_decoded_the_same(text: bytes, changed: bytes) -> None:
    """What a row lacks is not NULL, and what it has besides is not lost, whatever rows are around it."""
    options = CodecOptions("canal-json", enable_tidb_extension=True)
    whole = CODECS["canal-json"].encode(rows(TABLE, [(None, PLAIN), (PLAIN, PLAIN)], first_ts=FIRST_TS), options, V8_5)
    values = CODECS["canal-json"].frame(whole, np.arange(2), options, V8_5).values.to_pylist()
    assert all(text in value for value in values)
    messages = [(None, each) for value in values for each in (value, value.replace(text, changed, 1), value)]
    held_against_decode(messages * 3, "canal-json")


@pytest.mark.parametrize("other", [None, b"", b"{}", b"1"])
def test_a_batch_without_rows_follows_one_with_rows(other: bytes | None) -> None:
    """What is known of frequent rows is of no use there."""
    changes = [(None, {**PLAIN, "id": str(n)}, False) for n in range(20)]
    decoder = StreamDecoder("canal-json")
    messages = encoded(changes, "canal-json", False)
    for _ in range(2):
        assert decoder.decoded(recorded(messages)).num_rows == len(messages)
    assert decoder.decoded(recorded([(None, other)])).column("kind").to_pylist() == [UNREADABLE]


CELLS = st.lists(st.none() | st.binary(max_size=20), max_size=12)


@given(cells=CELLS, start=st.integers(0, 3))
def test_encoded_cells_are_decoded(cells: list[bytes | None], start: int) -> None:
    texts = [None if cell is None else base64.b64encode(cell).decode() for cell in cells]
    assert decode_base64(pa.array(texts, pa.string()).slice(start)).to_pylist() == cells[start:]


@given(text=st.text("AZaz09+/=-_ \né", max_size=9))
def test_a_text_is_rejected_if_python_rejects_it(text: str) -> None:
    cells = pa.array(["AAAA", text, "QQ=="])
    try:
        expected = base64.b64decode(text.encode(), validate=True)
    except ValueError:
        with pytest.raises(ValueError, match="bad base64"):
            decode_base64(cells)
    else:
        assert decode_base64(cells).to_pylist() == [b"\0\0\0", expected, b"A"]


@pytest.mark.parametrize("last", [b'{"t":3}', b'{"ts":', b'{"ts":5,"t":1,"scm":"s","tbl":"t"}', b'{"t":1,"ts"}'])
def test_a_key_without_its_numbers_behind_others_is_unreadable(last: bytes) -> None:
    """Digits behind a text are not its own; there are enough messages that texts are searched one by one."""
    keys = [VERSION + len(key).to_bytes(8, "big") + key for key in [*[b'{"ts":5,"t":3}'] * 20, last]]
    columns = [[*range(21)], [0] * 21, keys, [bytes(8)] * 21]
    found = StreamDecoder("open-protocol").decoded(record_batch(columns))
    assert found.column("kind").to_pylist() == [WATERMARK] * 20 + [UNREADABLE]


VERSION = (1).to_bytes(8, "big")
