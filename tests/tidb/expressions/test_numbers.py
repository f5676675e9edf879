"""Functions read the numbers of texts and of JSON, and round moments, as TiDB does (pkg/types/convert.go, time.go)."""

from __future__ import annotations

import pytest
from support.upstreams import cases, played, shown

from simulator.errors import SqlError

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
    CAST(CAST('2024-00-00 10:00:59.96' AS DATETIME(2)) AS DATETIME(1)) => 2024-00-00 10:01:00.0
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


CARRIED = cases(r"""
    CAST('2024-00-01 10:00:00.9' AS DATETIME) => NULL => 1292 Incorrect time value: '{2024 0 1 10 0 0 0}'
    CAST('2024-00-01 10:00:00.94' AS DATETIME(1)) => 2024-00-01 10:00:00.9 => (none)
    CAST('2024-05-00 23:59:59.99' AS DATETIME(1)) => NULL => 1292 Incorrect time value: '{2024 5 0 23 59 59 0}'
    CAST('0000-00-00 00:00:00.9' AS DATETIME) => NULL => 1292 Incorrect time value: '{0 0 0 0 0 0 0}'
    CAST('0000-00-00 00:00:00.9' AS DATETIME(1)) => 0000-00-00 00:00:00.9 => (none)
    CAST('9999-12-31 23:59:59.9' AS DATETIME) => NULL => 1292 Incorrect time value: '{10000 1 1 0 0 0 0}'
    CAST('9999-12-31 23:59:59.9' AS DATETIME(1)) => 9999-12-31 23:59:59.9 => (none)
    CAST('9999-12-31 23:59:59.4' AS DATETIME) => 9999-12-31 23:59:59 => (none)
    CAST('2024-12-31 23:59:59.5' AS DATE) => 2025-01-01 => (none)
    CAST('2024-12-31 23:59:59.4' AS DATE) => 2024-12-31 => (none)
    CAST('9999-12-31 23:59:59.9' AS DATE) => NULL => 1292 Incorrect time value: '{10000 1 1 0 0 0 0}'
    CAST('2024-12-00 23:59:59.9' AS DATE) => NULL => 1292 Incorrect time value: '{2024 12 0 23 59 59 0}'
    CAST(CAST('"2024-12-31 23:59:59.9"' AS JSON) AS DATETIME) => 2025-01-01 00:00:00 => (none)
    CAST(CAST('"9999-12-31 23:59:59.9"' AS JSON) AS DATE) => NULL => 1292 Incorrect time value: '{10000 1 1 0 0 0 0}'
    CAST(20241231235959.9 AS DATETIME) => 2025-01-01 00:00:00 => (none)
    CAST(20241231235959.94 AS DATETIME(1)) => 2024-12-31 23:59:59.9 => (none)
    CAST(20241231235959.9 AS DATE) => 2025-01-01 => (none)
    CAST(2.02412312359598e13 AS DATETIME) => 2025-01-01 00:00:00 => (none)
    CAST(99991231235959.9 AS DATETIME) => NULL => 1292 Incorrect time value: '{10000 1 1 0 0 0 0}'
    CAST(0.9 AS DATETIME) => NULL => 1292 Incorrect time value: '{0 0 0 0 0 0 0}'
    CAST(0.09 AS DATETIME(1)) => 0000-00-00 00:00:00.0 => (none)
    CAST('2024-12-31 23:59:59.9' AS TIME) => 24:00:00 => (none)
    CAST('0000-00-00 00:00:00.9' AS TIME) => 00:00:01 => (none)
    CAST('9999-12-31 23:59:59.9' AS TIME) => 24:00:00 => (none)
    CAST('2024-02-30' AS DATE) => NULL => 1292 Incorrect datetime value: '2024-2-30'
    CAST('2020-01-01 10:00:00+02:00' AS DATETIME) => 2020-01-01 08:00:00 => (none)
    CAST('x' AS DATETIME) => NULL => 1292 Incorrect datetime value: 'x'
    CAST('0000-00-00' AS DATE) => 0000-00-00 => (none)
""")


@pytest.mark.parametrize(("expression", "value", "warnings"), CARRIED)
def test_casts_to_moments_round_as_they_parse(expression: str, value: str, warnings: str) -> None:
    """pkg/types/time.go, parseDatetime: a second is carried by Go's calendar, which has no month or day of 0."""
    outcome = played(f"SET sql_mode = '', time_zone = '+00:00'; SELECT {expression}")
    assert outcome.result is not None
    cell = outcome.result.rows[0][0]
    told = "; ".join(outcome.warnings) or "(none)"
    assert ("NULL" if cell is None else cell.decode(), told) == (value, warnings)


STRICT_CASTS = cases(r"""
    SELECT CAST('0000-00-00 00:00:00.4' AS DATETIME) => NULL
        => 1292 Incorrect datetime value: '0000-00-00 00:00:00'
    SELECT CAST('0000-00-00' AS DATE) => NULL => 1292 Incorrect datetime value: '0000-00-00 00:00:00'
    SELECT CAST('2024-00-01' AS DATETIME) => 2024-00-01 00:00:00 => (none)
""")


@pytest.mark.parametrize(("statement", "value", "warnings"), STRICT_CASTS)
def test_casts_of_zero_dates_follow_sql_mode(statement: str, value: str, warnings: str) -> None:
    """pkg/expression/builtin_cast.go, builtinCastStringAsTimeSig; SELECT takes parts of 0 for dates."""
    outcome = played(statement)
    assert outcome.result is not None
    cell = outcome.result.rows[0][0]
    told = "; ".join(outcome.warnings) or "(none)"
    assert ("NULL" if cell is None else cell.decode(), told) == (value, warnings)


def test_moments_without_a_next_second_are_errors() -> None:
    """pkg/expression/builtin_cast.go, builtinCastTimeAsTimeSig: the error of RoundFrac is the statement's."""
    moment = "CAST('2024-05-00 23:59:59.9' AS DATETIME(1))"
    for statement in (f"SELECT CAST({moment} AS DATETIME)", f"SELECT CAST({moment} AS SIGNED)"):
        with pytest.raises(SqlError, match="1292.*Incorrect time value: '2024-05-00 23:59:59.9'"):
            played(f"SET sql_mode = ''; {statement}")
    with pytest.raises(SqlError, match="1235.*9999-12-31 23:59:59.9 is not rounded to a year of five digits"):
        played("SELECT CAST(CAST('9999-12-31 23:59:59.9' AS DATETIME(1)) AS DATETIME)")
