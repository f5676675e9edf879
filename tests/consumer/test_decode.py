"""The decoder reads what TiCDC wrote, and explains what it cannot read."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.codec_expected import sent
from support.decoded import row_text
from support.oracle.state import image_of
from support.vectors.files import DEFAULT as VECTORS
from support.vectors.files import Vector, vectors

from simulator.consumer.decode import DdlEvent, RowEvent, Watermark, before_image, decode
from simulator.consumer.decode.go_json import unquote
from simulator.errors import UserError
from simulator.releases import Release
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.types import ColumnType, is_binary


def framed(*texts: bytes) -> bytes:
    return b"".join(len(text).to_bytes(8, "big") + text for text in texts)


def key(*texts: bytes) -> bytes:
    return (1).to_bytes(8, "big") + framed(*texts)


ROW_KEY = b'{"ts":415508878783938562,"scm":"test","tbl":"t1","rid":1,"t":1}'


def open_row(column: bytes) -> RowEvent:
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{"c":' + column + b"}}"))
    assert isinstance(event, RowEvent)
    return event


def canal_row(mysql_type: str, value: str | None, sql_type: int = 12) -> RowEvent:
    message = {
        "id": 0,
        "database": "test",
        "table": "t1",
        "pkNames": ["c"],
        "isDdl": False,
        "type": "INSERT",
        "es": 1585040583747,
        "ts": 0,
        "sql": "",
        "sqlType": {"c": sql_type},
        "mysqlType": {"c": mysql_type},
        "old": None,
        "data": [{"c": value}],
    }
    (event,) = decode(None, json.dumps(message).encode())
    assert isinstance(event, RowEvent)
    return event


def test_an_open_protocol_row_has_its_key_and_columns() -> None:
    """Type code, flags and handle are read with the values."""
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}'))
    assert isinstance(event, RowEvent)
    assert (415508878783938562, "test", "t1", "INSERT", 1) == (
        event.commit_ts,
        event.schema,
        event.table,
        event.op,
        event.rid,
    )
    assert {"id": "1"} == event.after
    assert (3, 11, True) == (event.columns["id"].type, event.columns["id"].flags, event.columns["id"].key)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (b'{"t":8,"f":193,"v":18446744073709551615}', "18446744073709551615"),
        (b'{"t":5,"f":65,"v":1e+21}', "1e+21"),
        (b'{"t":246,"f":65,"v":"-12.340"}', "-12.340"),
        (b'{"t":252,"f":65,"v":"iVBORw=="}', b"\x89PNG"),
        (b'{"t":252,"f":64,"v":"YXNjaWk="}', "ascii"),
        (b'{"t":15,"f":64,"v":"\\\\x89"}', "\\x89"),
        (
            rb'{"t":15,"f":65,"v":"\\x89PNG\\r\\n\\x1a\\n\\x00\\xff' + rb"'\\\"\\\\" + 'é\\\\u00a0"}'.encode(),
            b"\x89PNG\r\n\x1a\n\x00\xff'\"\\\xc3\xa9\xc2\xa0",
        ),
        (b'{"t":12,"f":65,"v":null}', None),
        (b'{"t":247,"f":64,"v":3}', "3"),
    ],
)
def test_open_protocol_values_by_type(column: bytes, value: str | bytes | None) -> None:
    """Text is base64 and binary strings are quoted, as type code and flag tell."""
    assert {"c": value} == open_row(column).after


@pytest.mark.parametrize(
    ("mysql_type", "sql_type", "sent", "value"),
    [
        ("varchar", 12, "é", "é"),
        ("varbinary", 2004, "\x89PNG\x00ÿ", b"\x89PNG\x00\xff"),
        ("binary(3)", 2004, "\x00\x01ÿ", b"\x00\x01\xff"),
        ("mediumblob", 2004, "", b""),
        ("enum('binary')", 4, "1", "1"),
        ("int unsigned", 4, "7", "7"),
        ("blob", 2004, None, None),
        ("varbinary", 12, "é\x00", b"\xc3\xa9\x00"),
        ("binary", 1, "\ufffdPNG", "\ufffdPNG"),
    ],
)
def test_canal_values_by_type(mysql_type: str, sql_type: int, sent: str | None, value: str | bytes | None) -> None:
    """Binary types are Latin-1. Before 5.4 BINARY is UTF-8, with U+FFFD for lost bytes."""
    assert {"c": value} == canal_row(mysql_type, sent, sql_type).after


def test_a_batch_gives_its_events_in_order() -> None:
    """Keys and values are paired by position."""
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
    (event,) = decode(
        key(ROW_KEY), framed(b'{"u":{"a":{"t":3,"f":1,"v":2},"b":{"t":3,"f":1,"v":5}},"p":{"a":{"t":3,"f":1,"v":1}}}')
    )
    assert isinstance(event, RowEvent)
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
        (key(ROW_KEY), framed(b"{}"), "nothing is left of the row but {}"),
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
    """The message lists the known protocols."""
    with pytest.raises(UserError, match="'canal-jsn'.* Did you mean 'canal-json'"):
        decode(None, b"{}", "canal-jsn")


@given(st.binary(max_size=80), st.binary(max_size=80), st.sampled_from(["open-protocol", "canal-json", None]))
def test_junk_gives_only_user_errors(junk: bytes, more: bytes, protocol: str | None) -> None:
    """This holds for any bytes."""
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
    """This holds for any JSON that is no message."""
    body = json.dumps(value).encode()
    canal = {
        "isDdl": False,
        "type": "UPDATE",
        "es": 1,
        "database": "d",
        "table": "t",
        "mysqlType": value,
        "sqlType": value,
        "data": value,
        "old": value,
        "_tidb": value,
        "pkNames": value,
    }
    texts = (key(ROW_KEY), framed(body)), (key(body), framed(body)), (None, json.dumps(canal).encode())
    for message_key, message in texts:
        try:
            decode(message_key, message)
        except UserError:
            continue


@given(st.binary(max_size=40))
def test_bytes_written_in_hex_escapes_are_read_back(data: bytes) -> None:
    """Every byte has an escape."""
    assert data == unquote("".join(f"\\x{byte:02x}" for byte in data))


def changed(updated: bytes, previous: bytes) -> RowEvent:
    """An UPDATE of Open Protocol."""
    (event,) = decode(key(ROW_KEY), framed(b'{"u":{' + updated + b'},"p":{' + previous + b"}}"))
    assert isinstance(event, RowEvent)
    return event


NULL_TEXT, NULL_NUMBER = b'{"t":15,"f":64,"v":null}', b'{"t":3,"f":65,"v":null}'


def test_an_old_value_without_a_name_is_the_column_that_became_null() -> None:
    """The new architecture leaves out the name. Type and flags identify the column if only one matches."""
    event = changed(
        b'"a":{"t":3,"f":1,"v":2},"b":' + NULL_TEXT + b',"c":' + NULL_NUMBER,
        b'"a":{"t":3,"f":1,"v":1},"t":15,"f":64,"v":"old","t":3,"f":65,"v":7',
    )
    assert ({"a": "1", "b": "old", "c": "7"}, ()) == (event.before, event.unnamed)
    assert event.before == before_image(event)


def test_an_old_value_that_may_belong_to_two_columns_stays_unnamed() -> None:
    """The old values of these columns are unknown."""
    event = changed(b'"a":{"t":3,"f":1,"v":2},"b":' + NULL_TEXT + b',"c":' + NULL_TEXT, b'"t":15,"f":64,"v":"old"')
    assert ({}, ("old",)) == (event.before, event.unnamed)
    assert {"a": "2"} == before_image(event)


def test_a_column_may_be_called_like_a_member_of_a_column() -> None:
    """`t`, `f` and `v` with objects as values are columns."""
    event = changed(b'"t":{"t":3,"f":1,"v":2},"v":' + NULL_TEXT, b'"t":{"t":3,"f":1,"v":1},"t":15,"f":64,"v":"old"')
    assert {"t": "1", "v": "old"} == event.before


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


def messages_of_vectors(kind: str, directory: Path) -> Iterator[tuple[Release, Vector, Any, tuple[Any, ...]]]:
    """Release, vector, message and its events, of each message that TiCDC wrote."""
    for path in directory.glob(f"{kind}.*.jsonl*"):
        for vector in vectors(path):
            for message in vector.data["messages"]:
                found = decode(message["key"] and b64decode(message["key"]), b64decode(message["value"]))
                yield vector.release, vector, message, found


@pytest.fixture
def directory(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--vectors") or VECTORS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "batches", "ddl_events"])
def test_every_message_of_ticdc_is_read(kind: str, directory: Path) -> None:
    """Each message of any release has as many events as rows."""
    for _, vector, message, found in messages_of_vectors(kind, directory):
        assert max(1, message["rows"]) == len(found), vector.name


@pytest.mark.slow
def test_every_value_of_ticdc_is_read_as_the_row_had_it(directory: Path) -> None:
    """The TiDB text of each decoded column equals the vector's, as far as TiCDC sent it."""
    parsed = cache(create_table)
    for release, vector, _, (event,) in messages_of_vectors("rows", directory):
        data = vector.data
        table = parsed(data["create_table"], data["schema"])
        assert isinstance(event, RowEvent)
        assert (data["schema"], data["table"]) == (event.schema, event.table)
        assert event.commit_ts in (None, data["commit_ts"])
        for name, image in (("before", event.before), ("after", event.after)):
            texts = row_text(image or {}, table)
            columns = [column for column in table.columns if column.name in texts]
            wanted = {
                column.name: sent(wanted_text(data[name][column.name], column.type), column, release, data["protocol"])
                for column in columns
            }
            assert image_of(wanted, table) == image_of(texts, table), (vector.name, name)


def wanted_text(value: Any, type_: ColumnType) -> str | None:
    """TiDB text of a vector's value: bytes of binary columns as Latin-1."""
    if value is None:
        return None
    data = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode("utf-8")
    return data.decode("latin-1") if is_binary(type_) else data.decode("utf-8", "surrogateescape")
