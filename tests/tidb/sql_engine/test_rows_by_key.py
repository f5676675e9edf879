"""Conditions on a key find the rows that they find in a table without keys."""

from __future__ import annotations

import pytest
from support.upstreams import played

from simulator.tidb.sql_engine.storage.state import Upstream

COLUMNS = (
    "id BIGINT, z INT(4) ZEROFILL, u BIGINT UNSIGNED, ci VARCHAR(9) COLLATE utf8mb4_general_ci, s VARCHAR(9),"
    " b VARBINARY(9)"
)
ROWS = (
    "(1, 5, 18446744073709551615, 'a', 'a', 'a'), (2, 0, 0, 'B ', 'A', 'a '), (-3, NULL, NULL, NULL, NULL, NULL),"
    " (4, 9999, 7, '', '', ''), (5, 50, 5, 'ö', 'é', 0xff), (9223372036854775807, 1, 1, 'straße', ' a', 'b')"
)
CONDITIONS = [
    *(f"id = {value}" for value in ("1", "-3", "'4'", "007", "9223372036854775807", "'x'", "1.0", "NULL")),
    "id IN (1, 2, 2, -3, 77)",
    "id = 1 AND id = 2",
    "5 = id AND s = 'é'",
    "id = 5 AND s = 'a'",
    *(f"z = {value}" for value in ("5", "0005", "-5", "10000")),
    *(f"u = {value}" for value in ("5", "-5", "18446744073709551615", "0")),
    *(f"ci = {value}" for value in ("'A'", "'b'", "'B'", "''", "' '", "'A '", "'STRASSE'", "_binary'a'")),
    "s IN ('a', 'A ', 'é') AND b IN ('a', 'a ')",
    "s = 'A' AND b = 'a '",
    "s = 'A'",
]


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    text = (
        f"CREATE TABLE k ({COLUMNS}, PRIMARY KEY (id), UNIQUE (z), UNIQUE (u), UNIQUE (ci), UNIQUE (s, b)); "
        f"CREATE TABLE plain ({COLUMNS}); INSERT INTO k VALUES {ROWS}; INSERT INTO plain VALUES {ROWS}; "
        "DELETE FROM k WHERE id = 4; INSERT INTO k VALUES (4, 9999, 7, '', '', '')"
    )
    return played(text).upstream


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_are_the_same_by_key_and_by_scan(upstream: Upstream, condition: str) -> None:
    keyed, plain = (played(f"SELECT id, s FROM {table} WHERE {condition}", upstream).result for table in ("k", "plain"))
    assert keyed is not None and plain is not None
    assert sorted(map(str, keyed.rows.to_pylist())) == sorted(map(str, plain.rows.to_pylist()))
