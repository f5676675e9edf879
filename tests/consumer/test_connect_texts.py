"""Values of Debezium's messages as TiDB's texts, by the column of the table."""

from __future__ import annotations

import pytest

from simulator.consumer.decode.connect_texts import connect_text
from simulator.tidb.ddl.definitions.from_sql import create_table


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
