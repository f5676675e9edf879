"""The columns that an INSERT may omit."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError


def test_a_column_with_a_dropped_default_needs_a_value() -> None:
    """NULL is a value; IGNORE accepts NULL; SET DEFAULT ends it. Measured on TiDB v8.0."""
    ticdc = TiCDC(databases=["d"])
    ticdc.execute("USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 4); ALTER TABLE t ALTER a DROP DEFAULT")
    for refused in ("INSERT INTO t (id) VALUES (1)", "INSERT INTO t VALUES (1, DEFAULT)"):
        with pytest.raises(SqlError, match="Field 'a' doesn't have a default value") as raised:
            ticdc.execute(refused)
        assert raised.value.number == 1364

    ticdc.execute("INSERT INTO t VALUES (2, NULL); INSERT IGNORE INTO t (id) VALUES (3)")
    ticdc.execute("ALTER TABLE t ALTER a SET DEFAULT 7; INSERT INTO t (id) VALUES (4)")
    assert [(2, None), (3, None), (4, 7)] == [tuple(row.values()) for row in ticdc.rows("d.t")]
