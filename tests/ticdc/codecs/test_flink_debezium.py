"""Streams as Apache Flink's debezium-json format reads them: every message is accepted, and its changelog is what the SQL
did."""

from __future__ import annotations

import pytest
from support.java_programs import Flink

from simulator import TiCDC

pytestmark = pytest.mark.interop

URI = "kafka://127.0.0.1:9092/t?protocol=debezium&partition-num=1"
SQL = """CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), n BIGINT, x DOUBLE, tm BIGINT);
INSERT INTO t VALUES (1, 'a "b" \\\\ é', 9007199254740993, 0.5, 1), (2, NULL, NULL, 1e-7, NULL);
UPDATE t SET name = 'c' WHERE id = 1;
UPDATE t SET id = 3 WHERE id = 2;
DELETE FROM t WHERE id = 3;"""
COLUMNS = {"id": "INT", "name": "STRING", "n": "BIGINT", "x": "DOUBLE", "tm": "BIGINT"}


@pytest.mark.parametrize("release", ["v8.0.0", "v8.5.0", "v8.5.7"])
@pytest.mark.parametrize("more", ["", "&debezium-disable-schema=true"])
def test_the_changelog_is_what_the_sql_did(flink: Flink, release: str, more: str) -> None:
    """With `debezium-json.schema-include`, which tells Flink to look for `payload`: messages without schemas have it, too."""
    with TiCDC(release, sink_uri=URI + more, databases=()) as ticdc:
        ticdc.execute(SQL)
        messages = [message.value for message in ticdc.messages() if message.value]
    rows = [
        (kind, row[0], row[1]) for kind, row in flink.read(COLUMNS, messages, "debezium-json", schema_include="true")
    ]
    assert rows == [
        ("+I", "1", 'a "b" \\ é'),
        ("+I", "2", None),
        ("-U", "1", 'a "b" \\ é'),
        ("+U", "1", "c"),
        ("-D", "2", None),
        ("+I", "3", None),
        ("-D", "3", None),
    ]
