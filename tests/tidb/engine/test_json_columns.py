"""JSON columns keep the types of their scalars; clients and changefeeds see what TiDB prints."""

from __future__ import annotations

import pytest
from support.upstreams import cases, changes, played, selected

TYPES = cases("""
    '1' => INTEGER
    '1.0' => DOUBLE
    '[1e2]' => ARRAY
    1.0 => DOUBLE
    CAST(1 AS UNSIGNED) => UNSIGNED INTEGER
    CAST('2020-01-02' AS DATE) => DATE
    TIMESTAMP'2020-01-02 03:04:05' => DATETIME
    TIME'10:11:12' => TIME
    CAST(X'41' AS JSON) => BLOB
    '"1.0"' => STRING
""")


@pytest.mark.parametrize(("value", "type"), TYPES)
def test_a_value_keeps_its_type(value: str, type: str) -> None:
    """pkg/types/datum.go, convertToMysqlJSON."""
    stored = played(f"CREATE TABLE t (j JSON); INSERT INTO t VALUES ({value})").upstream
    assert selected("SELECT JSON_TYPE(j) FROM t", stored) == [(type,)]
    assert selected("SELECT JSON_TYPE(j->'$') FROM (SELECT j FROM t) s", stored) == [(type,)]


def test_a_changefeed_sees_what_tidb_prints() -> None:
    text = """
        CREATE TABLE t (id INT PRIMARY KEY, j JSON);
        INSERT INTO t VALUES (1, '{"b": 2.0, "a": 1e2}'), (2, CAST('2020-01-02' AS DATE)); UPDATE t SET j = 1 WHERE id = 2;
        UPDATE t SET j = j"""
    assert changes(played(text)) == [['+t 1,{"a": 100, "b": 2}', '+t 2,"2020-01-02"'], ['t 2,"2020-01-02" > 2,1']]
