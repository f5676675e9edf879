"""Row checksums: those of TiDB's pkg/util/rowcodec (v8.0.0), which was asked for each of these rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator import TiCDC
from simulator.reader.decode import simple_avro as avro

COLUMNS = (
    ("id BIGINT UNSIGNED PRIMARY KEY", "18446744073709551615", 558161692),
    ("s VARCHAR(9)", "'é\"'", 1663288620),
    ("b BLOB", "x'00ff'", 2021996650),
    ("n DECIMAL(9,2)", "-1.5", 3378099563),
    ("e ENUM('x','y')", "'y'", 391108459),
    ("st SET('p','q')", "'p,q'", 612805255),
    ("f FLOAT", "0.1", 3798150016),
    ("d DOUBLE", "1e300", 1402124437),
    ("bt BIT(9)", "5", 1982162956),
    ("ts TIMESTAMP NULL", "'2024-01-01 00:00:00'", 4074382734),
    ("dt DATETIME(3)", "'2024-01-01 00:00:00.123'", 1259075295),
    ("t TIME(2)", "'-01:00:00.50'", 3543009348),
    ("j JSON", "'{\"a\": 1}'", 383959610),
    ("y YEAR", "2024", 185845391),
    ("ti TINYINT", "-3", 3022365826),
    ("z INT", "NULL", 3022365826),
)
"""Columns, their values, and the checksum of a row of all columns so far."""

CONFIG = '[integrity]\nintegrity-check-level = "correctness"\n'
URI = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=1&encoding-format="


def rows(release: str, sql: str, encoding: str = "json", config: str = CONFIG) -> list[dict[str, Any]]:
    with TiCDC(release, sink_uri=URI + encoding, config=config or None) as ticdc:
        ticdc.execute(sql)
        read = avro.read if encoding == "avro" else json.loads
        messages = [read(message.value or b"") for message in ticdc.messages()]
    return [message for message in messages if "data" in message or "old" in message]


@pytest.mark.slow
def test_a_checksum_is_that_of_tidb() -> None:
    """Over all values that are not NULL."""
    sql = ""
    for count in range(1, len(COLUMNS) + 1):
        definitions, values, _ = zip(*COLUMNS[:count], strict=True)
        sql += f"CREATE TABLE t{count} ({', '.join(definitions)}); INSERT INTO t{count} VALUES ({', '.join(values)});"
    made = [row["checksum"] for row in rows("v8.5.3", sql + f"DELETE FROM t{count}")]
    expected = [(checksum, 0) for _, _, checksum in COLUMNS] + [(0, COLUMNS[-1][2])]

    assert made == [
        {"version": 2, "corrupted": False, "current": current, "previous": previous} for current, previous in expected
    ]


@pytest.mark.parametrize(
    ("release", "version"), [("v7.5.7", 0), ("v8.2.0", 0), ("v8.3.0", 1), ("v8.4.0", 2), ("new:v8.5.4", 2)]
)
def test_the_version_is_that_of_tidb_of_the_release(release: str, version: int) -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 2); UPDATE t SET v = 3"
    found = [[row["checksum"] for row in rows(release, sql, encoding)] for encoding in ("json", "avro")]
    assert found[0] == found[1]
    assert [each["version"] for each in found[0]] == [version] * 2
    assert found[0][0]["current"] == found[0][1]["previous"] != found[0][1]["current"]


def test_classic_ticdc_goes_through_columns_by_their_ids() -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD a INT FIRST; INSERT INTO t VALUES (5, 7)"
    plain = "CREATE TABLE t ({} INT PRIMARY KEY, {} INT); INSERT INTO t VALUES ({}, {})"
    ((classic,), (new,), (by_id,), (in_order,)) = (
        rows("v8.5.4", sql),
        rows("new:v8.5.4", sql),
        rows("v8.5.4", plain.format("id", "a", 7, 5)),
        rows("v8.5.4", plain.format("a", "id", 5, 7)),
    )
    assert classic["checksum"] == by_id["checksum"] != in_order["checksum"] == new["checksum"]


def test_there_is_none_without_the_setting_and_none_of_nulls_alone() -> None:
    sql = "CREATE TABLE t (a INT UNIQUE NOT NULL, b INT); INSERT INTO t VALUES (1, 2)"
    assert "checksum" not in rows("v8.5.3", sql, config="")[0]
    with TiCDC("v8.5.3", sink_uri=URI + "json", config=f"force-replicate = true\n{CONFIG}") as ticdc:
        ticdc.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (NULL)")
        assert not any(b'"checksum"' in (message.value or b"") for message in ticdc.messages())
