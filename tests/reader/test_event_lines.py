"""Recorded streams are read and shown with at least one line for each message, whatever it contains."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simulator.errors import UserError
from simulator.reader.event_lines import lines, quote_if_needed, raw_lines
from simulator.reader.record_batches import read_batches
from simulator.reader.records import FixtureFile, Record, read_records

TS = 415508878783938562


def framed(*texts: str) -> bytes:
    return b"".join(len(text.encode()).to_bytes(8, "big") + text.encode() for text in texts)


def open_record(key: str, value: str, offset: int = 0) -> Record:
    return Record("shop", 1, offset, TS >> 18, (1).to_bytes(8, "big") + framed(key), framed(value))


def row(value: str) -> Record:
    return open_record(f'{{"ts":{TS},"scm":"test","tbl":"t1","rid":1,"t":1}}', value)


INSERT = row(
    '{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"name":{"t":15,"f":64,"v":"Ann Lee"},"b":{"t":252,"f":65,"v":"iVA="}}}'
)
UPDATE = row(
    '{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"a":{"t":15,"f":64,"v":"y"},"b":{"t":3,"f":65,"v":7}},'
    '"p":{"id":{"t":3,"h":true,"f":11,"v":1},"a":{"t":15,"f":64,"v":null},"b":{"t":3,"f":65,"v":7}}}'
)
DELETE = row('{"d":{"id":{"t":3,"h":true,"f":11,"v":1}}}')
DDL = open_record(f'{{"ts":{TS},"scm":"test","tbl":"t1","t":2}}', '{"q":"CREATE TABLE `t1` (`id` INT)","t":3}')
WATERMARK = Record("shop", 0, 9, 0, (1).to_bytes(8, "big") + framed(f'{{"ts":{TS},"t":3}}'), bytes(8))


def test_raw_lines_show_the_bytes() -> None:
    """Each message is one line, with escapes for bytes that are not text."""
    zeros = "\\x00" * 7
    assert list(raw_lines([WATERMARK, Record("t", 0, 3, 0, None, b'{"a":"\xff"}')])) == [
        f'shop/0@9 KEY {zeros}\\x01{zeros}\\x1f{{"ts":{TS},"t":3}} VALUE {zeros}\\x00',
        't/0@3 KEY null VALUE {"a":"\\xff"}',
    ]


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (INSERT, 'shop/1@0 415508878783938562 2020-03-24T09:03:03.740Z INSERT test.t1 id=1 name="Ann Lee" b=0x8950'),
        (UPDATE, "shop/1@0 415508878783938562 2020-03-24T09:03:03.740Z UPDATE test.t1 id=1 a: NULL→y"),
        (DELETE, "shop/1@0 415508878783938562 2020-03-24T09:03:03.740Z DELETE test.t1 id=1"),
        (DDL, "shop/1@0 415508878783938562 2020-03-24T09:03:03.740Z DDL test.t1 [3] CREATE TABLE `t1` (`id` INT)"),
        (WATERMARK, "shop/0@9 415508878783938562 2020-03-24T09:03:03.740Z WATERMARK"),
        (
            Record("t", 0, 3, 0, None, b"junk\n"),
            "t/0@3 UNREADABLE neither Open Protocol (a key that begins with version 1) nor Canal-JSON (an object with isDdl) "
            "nor Debezium (an object with payload and source) nor Debezium in Avro (a byte 0 and the id of a schema) "
            "nor Simple (an object with version and buildTs, or Avro that begins with 0x16) nor Avro (a byte 0 and the id of a schema) nor Maxwell (objects with database, table, type and ts); key NULL; value 0x6a756e6b0a",
        ),
    ],
)
def test_an_event_is_one_line(record: Record, text: str) -> None:
    """A line has location, TSO, time and kind; for an UPDATE the key and the changed columns."""
    assert [text] == list(lines([record]))


def test_an_event_is_json_for_programs() -> None:
    """JSON has complete images, with bytes in hex."""
    (text,) = lines([INSERT], as_json=True)
    place = {"topic": "shop", "partition": 1, "offset": 0, "event": "INSERT", "commit_ts": TS}
    row = {"schema": "test", "table": "t1", "rid": 1, "before": None}
    after = {"id": "1", "name": "Ann Lee", "b": {"hex": "8950"}}
    assert {**place, **row, "time": "2020-03-24T09:03:03.740Z", "after": after} == json.loads(text)


def test_canal_without_the_extension_has_a_time_but_no_tso() -> None:
    message = (
        '{"id":0,"database":"test","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE",'
        '"es":1585040583740,"ts":0,"sql":"","sqlType":{"id":4,"a":12},"mysqlType":{"id":"int","a":"varchar"},'
        '"old":[{"id":"1","a":"x"}],'
        '"data":[{"id":"1","a":"y"}]}'
    )
    (text,) = lines([Record("shop", 0, 0, 0, None, message.encode())])
    assert "shop/0@0 - 2020-03-24T09:03:03.740Z UPDATE test.t id=1 a: x→y" == text


def test_long_values_are_cut_for_people_only() -> None:
    record = row('{"u":{"a":{"t":15,"f":64,"v":"%s"}}}' % ("x" * 500))
    (text,), (program,) = lines([record]), lines([record], as_json=True)
    assert text.endswith(f"a={'x' * 60}…(500 characters)")
    assert "x" * 500 == json.loads(program)["after"]["a"]


def test_text_that_could_be_misread_is_quoted() -> None:
    for text in ("NULL", "", "a b", "0x12", "a\nb"):
        assert json.dumps(text) == quote_if_needed(text)
    for text in ("-1.5", "2024-05-06 10:00:00.123", "caf\u00e9"):
        assert text == quote_if_needed(text)


@given(st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60), st.booleans())
def test_junk_gives_one_printable_line(key: bytes | None, value: bytes | None, as_json: bool) -> None:
    (text,) = lines([Record("t", 0, 0, 0, key, value)], as_json)
    assert text.isprintable()


@given(st.text(st.characters(), max_size=20))
@example("\ud800")
def test_any_text_gives_one_printable_line(value: str) -> None:
    """This holds for quotes, control characters and lone surrogates."""
    column = json.dumps({"t": 15, "f": 64, "v": value})
    (text,) = lines([row('{"u":{"a":%s}}' % column)])
    (program,) = lines([row('{"u":{"a":%s}}' % column)], as_json=True)
    assert text.isprintable() and text.encode()
    assert json.loads(program)["after"]["a"] == value


def write(directory: Path, topic: str, partition: int, *texts: str) -> Path:
    path = directory / topic / f"{partition}.jsonl"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


EMPTY = '{"offset": 0, "timestamp": 5, "key": null, "value": "eA==", "events": []}'


def test_jsonl_fixtures_are_read_by_topic_and_partition(tmp_path: Path) -> None:
    """Partition 10 comes after 9."""
    records = [Record(topic, number, 0, 5, None, b"x") for topic in ("a", "b") for number in (0, 9, 10)]
    for record in records:
        write(tmp_path, record.topic, record.partition, EMPTY)
    (tmp_path / "summary.json").write_text("{}")
    assert records == list(read_records(str(tmp_path)))


def test_a_file_of_a_blank_line_has_no_record(tmp_path: Path) -> None:
    path = write(tmp_path, "a", 0, "")
    with pytest.raises(UserError, match=f"{path}, line 1: "):
        list(lines(read_records(str(tmp_path))))
    with pytest.raises(UserError, match=f"{path}, line 1: "):
        list(read_batches(FixtureFile("a", 0, path)))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(["x"]), "column value is string, not binary"),
        (pa.array([["x"]]), "column value is list<.*>, not binary"),
        (None, "column value is missing"),
    ],
)
def test_parquet_with_other_types_is_rejected(tmp_path: Path, column: pa.Array | None, words: str) -> None:
    """The columns of Spark's Kafka source are required."""
    (tmp_path / "shop").mkdir()
    table = {"topic": ["shop"], "partition": [0], "offset": [0], "timestamp": [0], "key": pa.array([None], pa.binary())}
    pq.write_table(pa.table(table | ({} if column is None else {"value": column})), tmp_path / "shop" / "0.parquet")
    with pytest.raises(UserError, match=f"0.parquet: cannot be read, .* is expected: {words}"):
        list(lines(read_records(str(tmp_path))))


def test_a_source_without_a_stream_is_rejected(tmp_path: Path) -> None:
    """This holds for a missing or empty directory, two files of one partition, a file that is not Parquet, and a bad
    address."""
    (tmp_path / "empty").mkdir()
    for path in (write(tmp_path / "two", "shop", 0, EMPTY), write(tmp_path / "bad", "shop", 0, EMPTY)):
        path.with_suffix(".parquet").write_bytes(b"junk")
    path.unlink()
    for source, reason in {
        str(tmp_path / "none"): "no such directory",
        str(tmp_path / "empty"): "no fixtures in",
        str(tmp_path / "two"): "two files for one partition",
        str(tmp_path / "bad"): "cannot be read",
        "kafka://127.0.0.1:9092": "no topic to read",
        "http://x/y": "no topic to read",
    }.items():
        with pytest.raises(UserError, match=reason):
            list(read_records(source))
    with pytest.raises(UserError, match="can be followed"):
        read_records(str(tmp_path / "empty"), follow=True)


def test_unnamed_values_and_limited_rows_are_shown() -> None:
    """An old value without a column name is shown, and a message limited to its handle key."""
    nameless = row(
        '{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"a":{"t":15,"f":64,"v":null},"b":{"t":15,"f":64,"v":null}},'
        '"p":{"t":15,"f":64,"v":"old"}}'
    )
    cut = open_record(
        f'{{"ts":{TS},"scm":"test","tbl":"t1","t":1,"ohk":true}}', '{"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}'
    )
    shown = list(lines([nameless, cut]))
    assert shown[0].endswith("UPDATE test.t1 id=1 (no name): old→NULL")
    assert shown[1].endswith("INSERT test.t1 id=1 (the handle key alone)")
    first, second = (json.loads(line) for line in lines([nameless, cut], as_json=True))
    assert (["old"], True) == (first["unnamed"], second["only_handle"])


def test_invalid_utf8_is_shown_as_json() -> None:
    """The new architecture sends them; a lone surrogate becomes a JSON escape."""
    body = b'{"u":{"a":{"t":15,"f":64,"v":"caf\xe9"}}}'
    record = replace(DELETE, value=len(body).to_bytes(8, "big") + body)
    (line,) = lines([record], as_json=True)
    assert json.loads(line)["after"] == {"a": "caf\udce9"}
