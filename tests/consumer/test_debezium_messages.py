"""Debezium's messages are read back: events, schemas with types, keys; what verify says of a stream of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.cli import run
from simulator.consumer.decode import RowEvent, decode, protocol_of
from simulator.consumer.decode.connect_texts import connect_text
from simulator.errors import UserError
from simulator.tidb.ddl.definitions.from_sql import create_table

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
        ("DECIMAL(16,2)", "1.5", None),
        ("BIGINT UNSIGNED", "-1", "18446744073709551615"),
        ("BIGINT", "-1", "-1"),
        ("ENUM('a')", "a", "a"),
    ],
)
def test_a_value_has_one_text_or_is_unknown(type: str, text: str, expected: str | None) -> None:
    """Unknown are decimals that a float has rounded, and 1970 where it stands for dates that do not exist."""
    (column,) = create_table(f"CREATE TABLE t.t (v {type})").columns
    assert connect_text(text, column) == expected
