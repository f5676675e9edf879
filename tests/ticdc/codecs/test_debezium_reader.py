"""Streams as Kafka Connect's JsonConverter and Debezium's ExtractNewRecordState read them: every message fits its schema,
and the flattened rows are those of TiDB, in Debezium's types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from support.codec_expected import Case
from support.codec_refusals import cases, encoded_if_not_refused
from support.java_programs import DebeziumReader

from simulator import Message, TiCDC
from simulator.ticdc.codecs import CODECS

pytestmark = pytest.mark.interop

URI = "kafka://127.0.0.1:9092/t?protocol=debezium&partition-num=1"
SQL = r"""
CREATE TABLE test.t (
  id INT PRIMARY KEY, e ENUM('a', 'b,"c'), s SET('x', 'y'), b BIT(10), b1 BIT(1), bl BLOB, vb VARBINARY(10), j JSON,
  f FLOAT, db DOUBLE, dc DECIMAL(20,4), dt DATETIME(3), ts TIMESTAMP(6) NULL, tm TIME(2), y YEAR, da DATE, tx TEXT,
  bu BIGINT UNSIGNED, n INT DEFAULT 5, ti TINYINT, iu INT UNSIGNED);
INSERT INTO test.t VALUES (
  1, 'b,"c', 'x,y', 5, 1, x'00ff', x'0a0d', '{"a": [1, "é"]}', 0.5, 1e-7, 12.34, '2024-02-03 04:05:06.789',
  '2024-02-03 04:05:06.123456', '-12:13:14.15', 2024, '2024-02-03', 'a "q" \n,x', 18446744073709551615, 6, -3, 4000000000);
UPDATE test.t SET n = 7;
DELETE FROM test.t;
"""
ROW = {
    "id": ["INT32", None, "1"],
    "e": ["STRING", "io.debezium.data.Enum", 'b,"c'],
    "s": ["STRING", "io.debezium.data.EnumSet", "x,y"],
    "b": ["BYTES", "io.debezium.data.Bits", "BQA="],
    "b1": ["BOOLEAN", None, "true"],
    "bl": ["STRING", None, "AP8="],
    "vb": ["STRING", None, "Cg0="],
    "j": ["STRING", "io.debezium.data.Json", '{"a": [1, "é"]}'],
    "f": ["FLOAT32", None, "0.5"],
    "db": ["FLOAT64", None, "1.0E-7"],
    "dc": ["FLOAT64", None, "12.34"],
    "dt": ["INT64", "io.debezium.time.Timestamp", "1706933106789"],
    "ts": ["STRING", "io.debezium.time.ZonedTimestamp", "2024-02-03T04:05:06.123456Z"],
    "tm": ["INT64", "io.debezium.time.MicroTime", "-43994150000"],
    "y": ["INT32", "io.debezium.time.Year", "2024"],
    "da": ["INT32", "io.debezium.time.Date", "19756"],
    "tx": ["STRING", None, 'a "q" \n,x'],
    "bu": ["INT64", None, "-1"],
    "n": ["INT32", None, "6"],
    "ti": ["INT16", None, "-3"],
    "iu": ["INT64", None, "4000000000"],
}


def sent(release: str, parameters: str = "") -> list[Message]:
    with TiCDC(release, sink_uri=URI + parameters) as ticdc:
        ticdc.execute(SQL)
        return ticdc.messages()


@pytest.mark.parametrize("release", ["v8.0.0", "v8.5.7", "new:v8.5.4", "new:v8.5.7"])
def test_rows_of_all_types_are_debeziums(debezium_reader: DebeziumReader, release: str) -> None:
    """Statements of the new architecture are left as they are."""
    rows = [record["row"] for record in debezium_reader.read(sent(release)) if "__deleted" in record["row"]]

    assert [row.pop("__deleted")[2] for row in rows] == ["false", "false", "true"]
    assert [rows[0], {**rows[1], "n": ["INT32", None, "6"]}] == [ROW, ROW]
    assert [row["n"][2] for row in rows] == ["6", "7", "7"]


def test_messages_without_schemas_are_maps(debezium_reader: DebeziumReader) -> None:
    records = debezium_reader.read(sent("v8.0.0", "&debezium-disable-schema=true"), schemas=False)

    assert all(record["value"][:2] == [None, None] and "payload={" in record["value"][2] for record in records)


def test_a_watermark_is_converted_but_not_flattened(debezium_reader: DebeziumReader) -> None:
    """The name of its schema ends with Envelope, and it has no `after`."""
    watermark = sent("new:v8.5.7", "&enable-tidb-extension=true")[-1]

    with pytest.raises(AssertionError, match="Unknown field: after"):
        debezium_reader.read([watermark])


def test_any_message_fits_its_schema(debezium_reader: DebeziumReader) -> None:
    """Of any release, table and row, but of tables whose schemas have virtual columns, which rows have not."""

    @settings(max_examples=40, deadline=None)
    @given(cases("debezium"))
    def whatever(case: Case) -> None:
        assume(not case.options.debezium_disable_schema)
        virtual = any(column.generated == "virtual" for column in case.made.table.columns)
        assume(not (virtual and case.release.debezium_virtual_fields != "none"))
        encoded = encoded_if_not_refused(case)
        assume(encoded is not None)
        assert encoded is not None
        framed = CODECS["debezium"].frame(encoded, np.zeros(len(encoded.values), np.int64), case.options, case.release)
        keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
        messages = [
            Message("t", 0, offset, 0, key, value)
            for offset, (key, value) in enumerate(zip(keys, framed.values.to_pylist(), strict=True))
        ]
        assume(all(is_utf8(text) for message in messages for text in (message.key, message.value)))
        for record, change in zip(debezium_reader.read(messages), case.changes, strict=True):
            assert set(columns(record)) <= {column.name for column in case.made.table.columns}, change

    whatever()


def is_utf8(text: bytes | None) -> bool:
    """Texts with other bytes are in messages as they are, which no JSON parser takes."""
    return (text or b"").decode("utf-8", "ignore").encode() == (text or b"")


def columns(record: dict[str, Any]) -> list[str]:
    return [name for name in record["row"] if name != "__deleted"]
