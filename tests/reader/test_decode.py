"""The decoder reads what TiCDC wrote, and explains what it cannot read."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.playing import row_text

from simulator import TiCDC
from simulator.cli import run
from simulator.errors import UserError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, before_image, decode, protocol_of
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.decode.message_bytes import unquote
from simulator.reader.decode.row_images import connect_text, row_images
from simulator.reader.events import RECORD_SCHEMA
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.table_definitions import create_table


def framed(*texts: bytes) -> bytes:
    return b"".join(len(text).to_bytes(8, "big") + text for text in texts)


def key(*texts: bytes) -> bytes:
    return (1).to_bytes(8, "big") + framed(*texts)


ROW_KEY = b'{"ts":415508878783938562,"scm":"test","tbl":"t1","rid":1,"t":1}'


def open_row(column: bytes) -> RowEvent:
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{"c":' + column + b"}}"))
    assert isinstance(event, RowEvent)
    return event


def test_an_open_protocol_row_has_its_key_and_columns() -> None:
    """Type code, flags and handle are read with the values."""
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}'))
    assert isinstance(event, RowEvent)
    head = event.commit_ts, event.schema, event.table, event.op, event.rid
    assert (415508878783938562, "test", "t1", "INSERT", 1) == head
    assert {"id": "1"} == event.after
    assert (3, 11, True) == (event.columns["id"].type, event.columns["id"].flags, event.columns["id"].key)


def test_a_batch_gives_its_events_in_order() -> None:
    keys = [b'{"ts":%d,"scm":"s","tbl":"t","t":1}' % ts for ts in (5, 6)]
    values = [b'{"d":{"a":{"t":3,"f":1,"v":1}}}', b'{"u":{"a":{"t":3,"f":1,"v":2}},"p":{"a":{"t":3,"f":1,"v":1}}}']
    events = decode(key(*keys), framed(*values))
    assert [(5, "DELETE", {"a": "1"}, None), (6, "UPDATE", {"a": "1"}, {"a": "2"})] == [
        (event.commit_ts, event.op, event.before, event.after) for event in events if isinstance(event, RowEvent)
    ]


@pytest.mark.parametrize("value", [bytes(8), b""])
def test_a_resolved_event_is_a_watermark(value: bytes) -> None:
    """Its value is eight zero bytes, or nothing as the docs print it."""
    assert (Watermark(415508881038376963),) == decode(key(b'{"ts":415508881038376963,"t":3}'), value)


def test_canal_watermarks_and_statements() -> None:
    """The extension has the TSO; a statement without it has only milliseconds."""
    watermark = b'{"type":"TIDB_WATERMARK","isDdl":false,"es":7,"_tidb":{"watermarkTs":99}}'
    ddl = b'{"database":"s","table":"t","isDdl":true,"type":"CREATE","es":7,"sql":"CREATE TABLE `t` (`a` INT)"}'
    assert (Watermark(99),) == decode(None, watermark)
    assert (DdlEvent(None, "s", "t", "CREATE TABLE `t` (`a` INT)", "CREATE", 7),) == decode(None, ddl)


def test_columns_that_an_update_leaves_out_have_the_new_value() -> None:
    """only-output-updated-columns sends only changed columns."""
    event = changed(b'"a":{"t":3,"f":1,"v":2},"b":{"t":3,"f":1,"v":5}', b'"a":{"t":3,"f":1,"v":1}')
    assert {"a": "1", "b": "5"} == before_image(event)


@pytest.mark.parametrize(
    ("message_key", "value", "reason"),
    [
        (None, None, "neither Open Protocol"),
        (b"junk", b"junk", "neither Open Protocol"),
        (key(ROW_KEY), None, "the value is null"),
        (key(ROW_KEY)[:-1], framed(b"{}"), "the key ends inside the event that begins at byte 0"),
        (key(ROW_KEY), framed(b"{}")[:-1], "the value ends inside"),
        (key(ROW_KEY, ROW_KEY), framed(b"{}"), "2 events in the key, 1 in the value"),
        (key(b""), b"", "Expecting value"),
        (key(), b"", "0 events in the key"),
        (key(ROW_KEY), framed(b"[]"), "a JSON object is expected, this is list"),
        (key(ROW_KEY[:-1] + b',"ohk":true}'), framed(b"{}"), "nothing is left of the row but {}"),
        (key(ROW_KEY), framed(b'{"p":{}}'), "exactly one of the members u and d"),
        (key(ROW_KEY), framed(b'{"u":{"a":{"t":3}}}'), "member 'v' is missing"),
        (key(ROW_KEY), framed(b'{"u":{"a":{"t":5,"f":1,"v":NaN}}}'), "NaN is not JSON"),
        (key(ROW_KEY), framed(b'{"u":{"a":{"t":252,"f":1,"v":"?"}}}'), "ase64"),
        (key(ROW_KEY), framed(rb'{"u":{"a":{"t":15,"f":1,"v":"\\q"}}}'), "stray backslash at byte 0"),
        (key(b'{"ts":1,"t":4}'), framed(b"{}"), "event type 4"),
        (key(b'{"ts":1,"t":3}'), framed(b"{}"), "a resolved event with a value of 2 bytes"),
        (None, b'{"isDdl":false,"type":"INSERT"}', "member 'es' is missing"),
        (None, b'{"isDdl":false', "not a canal-json message"),
    ],
)
def test_an_unreadable_message_gives_the_reason(message_key: bytes | None, value: bytes | None, reason: str) -> None:
    """The error is one line, never another exception."""
    with pytest.raises(UserError, match=reason.replace("(", r"\(")):
        decode(message_key, value)


def test_an_unknown_protocol_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="'canal-jsn'.* Did you mean 'canal-json'"):
        decode(None, b"{}", "canal-jsn")


@given(st.binary(max_size=80), st.binary(max_size=80), st.sampled_from(["open-protocol", "canal-json", None]))
def test_junk_gives_only_user_errors(junk: bytes, more: bytes, protocol: str | None) -> None:
    for message_key, value in ((junk, more), (None, more), (key(junk), framed(more)), (key(ROW_KEY), framed(more))):
        try:
            decode(message_key, value, protocol)
        except UserError:
            continue


NAMES = st.sampled_from(["u", "d", "p", "t", "v", "f", "q", "data", "old", "type"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
)


@given(JSON)
def test_other_json_gives_only_user_errors(value: Any) -> None:
    body = json.dumps(value).encode()
    canal = {"isDdl": False, "type": "UPDATE", "es": 1, "database": "d", "table": "t"}
    canal |= dict.fromkeys(("mysqlType", "sqlType", "data", "old", "_tidb", "pkNames"), value)
    texts = (key(ROW_KEY), framed(body)), (key(body), framed(body)), (None, json.dumps(canal).encode())
    for message_key, message in texts:
        try:
            decode(message_key, message)
        except UserError:
            continue


@given(st.binary(max_size=40))
def test_bytes_written_in_hex_escapes_are_read_back(data: bytes) -> None:
    assert data == unquote("".join(f"\\x{byte:02x}" for byte in data))


def changed(updated: bytes, previous: bytes) -> RowEvent:
    """An UPDATE of Open Protocol."""
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{' + updated + b'},"p":{' + previous + b"}}"))
    assert isinstance(event, RowEvent)
    return event


NULL_TEXT, NULL_NUMBER = b'{"t":15,"f":64,"v":null}', b'{"t":3,"f":65,"v":null}'


@pytest.mark.parametrize(
    ("updated", "previous", "before", "unnamed"),
    [
        (
            b'"a":{"t":3,"f":1,"v":2},"b":' + NULL_TEXT + b',"c":' + NULL_NUMBER,
            b'"a":{"t":3,"f":1,"v":1},"t":15,"f":64,"v":"old","t":3,"f":65,"v":7',
            {"a": "1", "b": "old", "c": "7"},
            (),
        ),
        (b'"b":' + NULL_TEXT + b',"c":' + NULL_TEXT, b'"t":15,"f":64,"v":"old"', {}, ("old",)),
        (
            b'"t":{"t":3,"f":1,"v":2},"v":' + NULL_TEXT,
            b'"t":{"t":3,"f":1,"v":1},"t":15,"f":64,"v":"old"',
            {"t": "1", "v": "old"},
            (),
        ),
    ],
)
def test_an_old_value_without_a_name_is_the_column_that_became_null(
    updated: bytes, previous: bytes, before: dict[str, str], unnamed: tuple[str, ...]
) -> None:
    """The new architecture leaves out the name. Type and flags identify the column if only one matches; `t`, `f` and `v`
    with objects as values are columns."""
    event = changed(updated, previous)
    assert (before, unnamed) == (event.before, event.unnamed)
    assert before == before_image(event)


def test_old_values_are_read_by_the_flags_of_the_new_ones() -> None:
    """The new architecture's first releases write TiDB's own flag word into `p`, where 1 is NOT NULL, not binary."""
    event = changed(b'"a":{"t":252,"f":64,"v":"Yg=="}', b'"a":{"t":252,"f":4097,"v":"w6k="}')
    assert {"a": "é"} == event.before


def test_invalid_utf8_of_the_new_architecture_is_read() -> None:
    """Its bytes are sent as they are, and become lone surrogates, as in row images."""
    assert {"c": "caf\udce9"} == open_row(b'{"t":15,"f":64,"v":"caf\xe9"}').after
    assert {"c": "caf\udce9"} == open_row(b'{"t":252,"f":64,"v":"Y2Fm6Q=="}').after


def test_columns_without_flags_are_read() -> None:
    """Before 4.0.5 there are no flags: every string is base64, and the table tells which are bytes."""
    for code, value in ((b"252", b"w6k="), (b"15", b"w6k="), (b"254", "é".encode())):
        event = open_row(b'{"t":%s,"v":"%s"}' % (code, value))
        assert {"c": "é"} == event.after
        for kind, text in (("TEXT", "é"), ("VARBINARY(9)", "Ã©")):
            assert {"c": text} == row_text(event.after or {}, create_table(f"CREATE TABLE s.t (c {kind})"))
    assert {"c": b"\xff"} == open_row(b'{"t":15,"v":"/w=="}').after


# -- Avro ------------------------------------------------------------------------------------------------------------

RECORD = {
    "type": "record",
    "name": "t",
    "fields": [
        {"name": "id", "type": {"type": "long", "connect.parameters": {"tidb_type": "BIGINT"}}},
        {"name": "d", "type": ["null", {"type": "double", "connect.parameters": {"tidb_type": "DOUBLE"}}]},
    ],
}


def avro_row(record: bytes) -> Mapping[str, object]:
    """The values of an INSERT of Avro."""
    (row,) = decode(None, bytes(5) + record, "avro", {0: json.dumps(RECORD)})
    assert isinstance(row, RowEvent)
    return row.after or {}


def test_the_values_of_a_record_are_read() -> None:
    assert avro_row(b"\x05\0") == {"id": "-3", "d": None}
    assert avro_row(b"\x05\2" + struct.pack("<d", 1e21)) == {"id": "-3", "d": "1" + "0" * 21}
    assert avro_row(b"\x05\2" + struct.pack("<d", math.nan)) == {"id": "-3", "d": "nan"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x05", "at byte 1"),
        (b"\x05\2\0\0", "at byte"),
        (b"\x05\4", "at byte 2"),
        (b"\x05\0\0", "after the record: 1 byte"),
        (b"\x85\0\0", "not those that an encoder writes"),
        (b"\xff" * 9 + b"\x03\0", "not those that an encoder writes"),
    ],
)
def test_bytes_that_no_encoder_writes_are_refused(record: bytes, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        avro_row(record)


@pytest.mark.parametrize("number", [b"\xff" * 9 + b"\x03", b"\xff" * 100_000, b"\x81\0"])
def test_a_number_of_simple_is_as_an_encoder_writes_it(number: bytes) -> None:
    """It has 64 bits at most, and no more bytes than it needs."""
    watermark = b"\x16\0\0\2"
    assert decode(None, watermark + b"\2\2", "simple") == (Watermark(1),)
    with pytest.raises(UserError, match="more than 64 bits|more bytes than it needs"):
        decode(None, watermark + number + b"\2", "simple")


# -- row images


def images(columns: bytes, create: str, fidelity: Fidelity = Fidelity()) -> list[bytes | None]:
    """The images of an INSERT of Open Protocol."""
    head, value = b'{"ts":7,"scm":"s","tbl":"t","t":1}', b'{"u":{%s}}' % columns
    record = {"offset": 0, "key": key(head), "value": framed(value)}
    decoding = StreamDecoder()
    batch = decoding.decoded(pa.RecordBatch.from_pylist([record], RECORD_SCHEMA))
    table = create_table(f"CREATE TABLE s.t ({create})")
    return [side[0].as_py() for side in row_images(batch, decoding.layouts[0], table, fidelity)]


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
    assert [None, expected] == images(columns, create)


@pytest.mark.parametrize(
    ("columns", "create", "why"),
    [
        (b'"z":{"t":3,"f":1,"v":1}', "a INT", "s.t has no column 'z'"),
        (b'"a":{"t":247,"f":1,"v":3}', "a ENUM('x','y')", "'3' is no member of its ENUM"),
    ],
)
def test_columns_that_do_not_fit_the_table_are_rejected(columns: bytes, create: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        images(columns, create)


def test_times_that_the_release_cuts_are_unknown() -> None:
    columns, create = b'"a":{"t":11,"f":65,"v":"10:00:00"},"b":{"t":11,"f":65,"v":"10:00:00"}', "a TIME, b TIME(2)"
    assert [None, b"10:00:00\xff10:00:00"] == images(columns, create)
    assert [None, b"10:00:00\xff\xfd"] == images(columns, create, Fidelity(whole_seconds=True))


# -- Debezium --------------------------------------------------------------------------------------------------------

URI = "kafka://127.0.0.1:9092/t?protocol=debezium&partition-num=2"
SQL = """CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY, de DECIMAL(30,2), du DECIMAL(9,3), bu BIGINT UNSIGNED, d DATE, dt DATETIME(6),
    ts TIMESTAMP(3) NULL, tm TIME(2), b BIT(9), b1 BIT(1), vb VARBINARY(9), e ENUM('a','b'), s SET('a','b'), f FLOAT, y YEAR);
INSERT INTO t VALUES (1, 12345678901234567890.12, -1.5, 18446744073709551615, '2024-02-29', '2024-02-29 01:02:03.000004',
    '2024-02-29 01:02:03.004', '-01:02:03.04', 257, 1, x'00ff', 'b', 'a,b', 1.25, 2024), (2, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
UPDATE t SET de = de + 1, du = du + 1, bu = 5, d = '1999-12-31', b = 1 WHERE id = 1;
UPDATE t SET id = 3 WHERE id = 2;
DELETE FROM t WHERE id = 3;"""


@pytest.mark.slow
@pytest.mark.parametrize(("release", "more"), [("v8.0.0", ""), ("v8.5.7", "&debezium-disable-schema=true")])
def test_a_stream_leads_to_the_rows_of_the_truth(
    tmp_path: Path, release: str, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With schemas and without, but for the decimals that have lost digits."""
    with TiCDC(release, sink_uri=URI + more, databases=(), fixtures=tmp_path / "out") as ticdc:
        ticdc.execute(SQL)
        ticdc.truth(tmp_path / "truth")
    assert run(["verify", str(tmp_path / "out"), "--truth", str(tmp_path / "truth")]) == 4
    assert "values of d.t: de (2) could not be compared" in capsys.readouterr().out


def test_a_row_has_the_types_of_its_schema_and_the_key_of_its_message() -> None:
    with TiCDC("v8.5.7", sink_uri=URI, databases=()) as ticdc:
        ticdc.execute(SQL)
        messages = ticdc.messages()
    assert {protocol_of(message.key, message.value) for message in messages} == {"debezium"}
    (event,) = decode(messages[0].key, messages[0].value)
    assert isinstance(event, RowEvent)
    assert (event.schema, event.table, event.op, event.before) == ("d", "t", "INSERT", None)
    assert event.columns["id"].key and not event.columns["d"].key
    types = ["connect int32", "connect io.debezium.time.Date", "connect io.debezium.data.Enum"]
    assert [event.columns[name].type for name in ("id", "d", "e")] == types


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b'"op":"x"', "op 'x' of a row: c, u, d are known"),
        (b'"op":"c","before":null', "before and after do not fit the INSERT"),
        (b'"op":"d","after":null,"before":null', "do not fit the DELETE"),
        (b'"op":"c","after":{}', "'commit_ts' is missing"),
        (b'"op":"c","after":{"a":[1]}', "a string, a number, true, false or null"),
    ],
)
def test_what_is_no_debezium_is_refused_with_the_reason(payload: bytes, reason: str) -> None:
    value = b'{"payload":{"source":{"connector":"TiCDC","db":"a","table":"b"},%s}}' % payload
    with pytest.raises(UserError, match="not a debezium message: .*") as refused:
        decode(None, value, "debezium")
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("BIT(1)", "true", "1"),
        ("BIT(9)", "AQE=", "257"),
        ("VARBINARY(9)", "AP8=", "\x00ÿ"),
        ("VARCHAR(9)", "AP8=", "AP8="),
        ("DATE", "-1", "1969-12-31"),
        ("DATE", "-719528", "0000-01-01"),
        ("DATE NOT NULL", "0", None),
        ("DATETIME", "1500", "1970-01-01 00:00:01"),
        ("DATETIME(1)", "-500", "1969-12-31 23:59:59.5"),
        ("DATETIME(6)", "1", "1970-01-01 00:00:00.000001"),
        ("DATETIME NOT NULL", "0", None),
        ("TIMESTAMP(2) NULL", "2024-02-29T01:02:03.45Z", "2024-02-29 01:02:03.45"),
        ("TIMESTAMP NOT NULL", "1970-01-01T00:00:00Z", None),
        ("TIME(1)", "-3020399100000", "-838:59:59.1"),
        ("TIME", "0", "00:00:00"),
        ("DECIMAL(5,2)", "1.5", "1.50"),
        ("DECIMAL(15,2)", "1e+12", "1000000000000.00"),
        ("DECIMAL(16,2)", "1.5", "1.50"),
        ("DECIMAL(65)", "9007199254740991", "9007199254740991"),
        ("DECIMAL(65)", "9007199254740992", None),
        ("DECIMAL(30,2)", "1.2345678901234568e+21", None),
        ("DECIMAL(30,20)", "1e-14", "0.00000000000001000000"),
        ("DECIMAL(30,20)", "0.1", None),
        ("BIGINT UNSIGNED", "-1", "18446744073709551615"),
        ("BIGINT", "-1", "-1"),
        ("ENUM('a')", "a", "a"),
    ],
)
def test_a_value_has_one_text_or_is_unknown(type: str, text: str, expected: str | None) -> None:
    """Unknown are decimals that a float has rounded, and 1970 where it stands for dates that do not exist."""
    (column,) = create_table(f"CREATE TABLE t.t (v {type})").columns
    assert connect_text(text, column) == expected
