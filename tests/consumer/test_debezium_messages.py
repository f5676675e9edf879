"""Debezium's messages are read back: events, schemas with types, keys; what verify says of a stream of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.cli import run
from simulator.consumer.decode import RowEvent, decode, protocol_of
from simulator.errors import UserError

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


@pytest.mark.parametrize("release", ["v8.0.0", "v8.5.0", "v8.5.7"])
@pytest.mark.parametrize("more", ["", "&debezium-disable-schema=true"])
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
    assert [event.columns[name].type for name in ("id", "d", "e")] == [
        "connect int32",
        "connect io.debezium.time.Date",
        "connect io.debezium.data.Enum",
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"payload":{"source":{"connector":"TiCDC"},"op":"x"}}', "op 'x' of a row: c, u, d are known"),
        (
            b'{"payload":{"source":{"connector":"TiCDC"},"op":"c","before":null}}',
            "before and after do not fit the INSERT",
        ),
        (b'{"payload":{"source":{"connector":"TiCDC"},"op":"d","after":null,"before":null}}', "do not fit the DELETE"),
        (
            b'{"payload":{"source":{"connector":"TiCDC","db":"a","table":"b"},"op":"c","after":{}}}',
            "'commit_ts' is missing",
        ),
        (
            b'{"payload":{"source":{"connector":"TiCDC"},"op":"c","after":{"a":[1]}}}',
            "a string, a number, true, false or null",
        ),
    ],
)
def test_what_is_no_debezium_is_refused_with_the_reason(value: bytes, reason: str) -> None:
    with pytest.raises(UserError, match="not a debezium message: .*") as refused:
        decode(None, value, "debezium")
    assert reason in str(refused.value)
