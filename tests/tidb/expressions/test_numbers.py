"""Functions read the numbers of texts and of JSON, and round moments, as TiDB does (pkg/types/convert.go, time.go)."""

from __future__ import annotations

import pytest
from support.upstreams import cases, played, shown

READ = cases(r"""
    '12abc' + 0 => 12 => 1292 Truncated incorrect DOUBLE value: '12abc'
    '' + 0 => 0 => (none)
    '1\0abc' + 0 => 1 => (none)
    CHAR(0xE38080 USING utf8mb4) + 1 => 1 => (none)
    CONCAT(CHAR(0xE38080 USING utf8mb4), '2') + 1 => 3 => (none)
    CONCAT(CHAR(0x1F), '2') + 1 => 1 => 1292 Truncated incorrect DOUBLE value: '␟2'
    CAST('-' AS DECIMAL(5,1)) => 0.0 => 1292 Truncated incorrect DECIMAL value: ''
    CAST('-x' AS DECIMAL(5,1)) => 0.0 => 1292 Truncated incorrect DECIMAL value: 'x'
    CAST(' 1.5x' AS DECIMAL(5,1)) => 1.5 => 1292 Truncated incorrect DECIMAL value: '1.5x'
    CAST('1e99999999999999999999' AS DECIMAL(3,1)) => 99.9
        => 1690 %s value is out of range in '%s'; 1690 DECIMAL value is out of range in '(3, 1)'
    CAST('-12x' AS UNSIGNED) => 18446744073709551604 => 1292 Truncated incorrect INTEGER value: '-12x'; 1105 Cast to unsigned converted negative integer to its positive complement
    CAST('1e3' AS SIGNED) => 1 => 1292 Truncated incorrect INTEGER value: '1e3'
    CAST('9223372036854775808' AS SIGNED) => -9223372036854775808
        => 1105 Cast to signed converted positive out-of-range integer to its negative complement
    CAST('18446744073709551616' AS SIGNED) => -1 => 1292 Truncated incorrect INTEGER value: '18446744073709551616'
    CAST('-9223372036854775809' AS UNSIGNED) => 9223372036854775808
        => 1292 Truncated incorrect INTEGER value: '-9223372036854775809'
    CAST(CAST('"2.5"' AS JSON) AS SIGNED) => 3 => (none)
    CAST(CAST('"9223372036854775807"' AS JSON) AS SIGNED) => 9223372036854775807 => (none)
    CAST('[1]' AS JSON) + 0 => 0 => 1292 Truncated incorrect FLOAT value: '[1]'
    CAST(CAST('[1]' AS JSON) AS DECIMAL) => 0 => 1292 Truncated incorrect DECIMAL value: '[1]'
    CAST(CAST(5 AS UNSIGNED) AS JSON) + 1 => 6 => (none)
    CAST(CAST(CAST(5 AS UNSIGNED) AS JSON) AS SIGNED) => 5 => (none)
    2 = '1e99999999999999999999' => 0 => 1292 Truncated incorrect DOUBLE value: '1e99999999999999999999'
""")


ROUNDED = cases(r"""
    CAST('2024-05-06 10:59:59.96' AS DATETIME(1)) => 2024-05-06 11:00:00.0
    CAST('2024-00-00 10:00:59.96' AS DATETIME(1)) => 2024-00-00 10:01:00.0
    CAST('2024-01-00 10:00:00.44' AS DATETIME(1)) => 2024-01-00 10:00:00.4
    CAST(TIMESTAMP'2024-12-31 23:59:59.5' AS DATETIME) => 2025-01-01 00:00:00
""")


@pytest.mark.parametrize(("expression", "value"), ROUNDED)
def test_moments_are_rounded(expression: str, value: str) -> None:
    """pkg/types/time.go, RoundFrac: also those with a month or day of 0."""
    assert shown(f"SET sql_mode = ''; SELECT {expression}") == value


@pytest.mark.parametrize(("expression", "value", "warnings"), READ)
def test_functions_read_numbers(expression: str, value: str, warnings: str) -> None:
    outcome = played(f"SELECT {expression}")
    assert outcome.result is not None
    assert ([row[0] for row in outcome.result.rows], "; ".join(outcome.warnings) or "(none)") == (
        [value.encode()],
        warnings.replace("␟", "\x1f"),
    )
