"""Expressions of table definitions give the values that TiDB stores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import cases

from simulator.errors import SnapshotError
from simulator.ticdc.filters.row_expressions import is_ignored
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.expressions.over_columns import compute_generated_columns
from simulator.tidb.model.table import Table

Cells = list[str | None]


def table_of(columns: str, expression: str, type: str) -> Table:
    return create_table(f"CREATE TABLE d.t ({columns}, x {type} GENERATED ALWAYS AS ({expression}) STORED)")


def stored(columns: str, expression: str, type: str, *cells: Sequence[str | None]) -> Cells:
    """Return the texts of a stored column for rows whose other columns have these texts."""
    table = table_of(columns, expression, type)
    given = [column.name for column in table.columns if not column.generated]
    texts = {name: pa.array(column, pa.string()) for name, column in zip(given, cells, strict=True)}
    found: Cells = compute_generated_columns(table, texts).texts["x"].to_pylist()
    return found


def cells_of(text: str) -> Cells:
    printed = text.replace("(empty)", "").replace("␍", "\r").replace("␅", "\x05")
    return [None if cell == "NULL" else cell for cell in printed.split("; ")]


RESULTS = cases(r"""
    a INT => a + 1 => BIGINT => 1; NULL; 2147483647 => 2; NULL; 2147483648
    a BIGINT => a + 1 => BIGINT => 9223372036854775807 => NULL
    a BIGINT UNSIGNED => a + 1 => BIGINT UNSIGNED => 18446744073709551614 => 18446744073709551615
    a DECIMAL(10,2) => a / 3 => DECIMAL(10,3) => 1.00; NULL; -2.55 => 0.333; NULL; -0.850
    a INT => a / 3 => DECIMAL(20,9) => 1; -2 => 0.333333333; -0.666666666
    a INT => concat(a / 3) => VARCHAR(20) => 1; -2; 0 => 0.333333333; -0.666666666; 0.0000
    a DECIMAL(20,10) => a * a => DECIMAL(30,20) => 1.5000000001 => 2.25000000030000000001
    a DECIMAL(20,4) => a * a * a => DECIMAL(60,12) => 9999999999999999.9999; -1.5
        => 999999999999999999970000000000000000000299999999.999999999999; -3.375000000000
    a DECIMAL(65,30) => a => DECIMAL(65,30) => 12345678901234567890123456789012345.5; NULL
        => 12345678901234567890123456789012345.500000000000000000000000000000; NULL
    a DECIMAL(65,30) => if(a < 50, a * 2, -a) => DECIMAL(65,30) => 1.111111111111111111111111111111; 55555555555555555555555555555555555.666666666666666666666666666666; -99999999999999999999999999999999999.1
        => 2.222222222222222222222222222222; -55555555555555555555555555555555555.666666666666666666666666666666; NULL
    a DECIMAL(65,30) => coalesce(a, 2.5) + 1 => DECIMAL(65,30) => 9999999999999999999999999999999999.1; NULL
        => 10000000000000000000000000000000000.100000000000000000000000000000; 3.500000000000000000000000000000
    a DECIMAL(65,0) => a / 3 => DECIMAL(65,9) => 100000000000000000000000000000000000000000000000000
        => 33333333333333333333333333333333333333333333333333.333333333
    a DECIMAL(65,0) => a > 12345678901234567890123456789012345678901 => INT => 12345678901234567890123456789012345678901; 12345678901234567890123456789012345678902; -1
        => 0; 1; 0
    a DECIMAL(65,2) => round(a, 1) => DECIMAL(65,2) => 11111111111111111111111111111111111111111111111111.25
        => 11111111111111111111111111111111111111111111111111.30
    a DECIMAL(10,2) => a % 2 => DECIMAL(10,2) => 7.50; -7.50 => 1.50; -1.50
    a INT => a div 0 => INT => 1 => NULL
    a DOUBLE => concat(a) => VARCHAR(50) => 1e20; 1.5E-10; 0.1; -2.0 => 100000000000000000000; 0.00000000015; 0.1; -2
    a FLOAT => concat(a) => VARCHAR(50) => 208.867 => 208.867
    a DECIMAL(10,4) => round(a, 2) => DECIMAL(10,4) => 1.2350; -2.5050 => 1.2400; -2.5100
    a DECIMAL(10,4) => truncate(a, -1) => DECIMAL(10,4) => 19.2390; -25.5059 => 10.0000; -20.0000
    a BIGINT => truncate(a, -1) => BIGINT => -9223372036854775808; 19 => -9223372036854775800; 10
    a BIGINT => round(a, -1) => BIGINT => -15; 14; 9223372036854775807 => -20; 10; -9223372036854775808
    a VARCHAR(20) => upper(a) => VARCHAR(20) => é; NULL; a => É; NULL; A
    a VARBINARY(20) => concat(a, 'é') => VARBINARY(20) => ␀ÿ; NULL => ␀ÿÃ©; NULL
    a VARCHAR(20) => a => VARBINARY(20) => é => Ã©
    a VARBINARY(20) => hex(a) => VARCHAR(40) => ␀ÿ␍¶ => 00FF0D0A
    a VARCHAR(20) => unhex(hex(a)) => VARCHAR(20) => é␀x => é␀x
    a VARCHAR(20) => reverse(a) => VARCHAR(20) => aé => ́ea
    a VARCHAR(20) => substring_index(a, '.', -2) => VARCHAR(20) => a.b.c; a; (empty) => b.c; a; (empty)
    a VARCHAR(20) => substring(a, -2, 1) => VARCHAR(20) => abc; a; NULL => b; (empty); NULL
    a VARCHAR(20) => lpad(a, 3, 'xy') => VARCHAR(20) => a; abcd => xya; abc
    a VARCHAR(20) => conv(a, 16, 10) => VARCHAR(30) => ff; -1; zz => 255; 18446744073709551615; 0
    a VARCHAR(20) => crc32(a) => BIGINT => 65é; NULL; (empty); 65é => 2574893275; NULL; 0; 2574893275
    a VARCHAR(20) => from_base64(to_base64(a)) => VARCHAR(20) => ffé => ffé
    a VARCHAR(20) => regexp_replace(a, '[0-9]+', '#') => VARCHAR(20) => 6é1 => #é#
    a VARCHAR(20) => regexp_instr(a, '[0-9]') => INT => é1; é => 2; 0
    a INT => char(a, 66) => VARCHAR(20) => 65; NULL => AB; B
    a INT => format(a, 2) => VARCHAR(20) => 1234567 => 1,234,567.00
    a INT => if(a > 1, 'x', 'y') => ENUM('x','y') => 5; NULL; 1 => x; y; y
    a INT => a > 1 => TINYINT(1) => 1; NULL; 5 => 0; NULL; 1
    a INT => a => BIT(4) => 5 => 5
    a DATETIME(3) => a => DATETIME => 2020-12-31 23:59:59.500; 0000-00-00 00:00:00.000
        => 2021-01-01 00:00:00; 0000-00-00 00:00:00
    a DATETIME(3) => a + interval 5 hour => DATETIME(3) => 1000-01-01 22:50:17.371 => 1000-01-02 03:50:17.371
    a DATETIME(3) => time(a) => TIME(1) => 2020-12-31 23:59:59.450 => 23:59:59.5
    a TIME => concat(a) => VARCHAR(20) => -838:59:59 => -838:59:59
    a DATETIME => date_format(a, '%Y %b %D %H:%i %r %j%%') => VARCHAR(60) => 2020-02-03 15:04:05
        => 2020 Feb 3rd 15:04 03:04:05 PM 034%
    a VARCHAR(20) => str_to_date(a, '%d.%m.%Y') => DATE => 05.06.2020; x => 2020-06-05; NULL
    a INT => from_unixtime(a) => DATETIME => 86400; -5 => 1970-01-02 00:00:00; NULL
    a DATETIME(3) => date_add(a, INTERVAL 5 HOUR) => DATETIME(1) => 1000-01-01 09:26:17.200; 1969-12-31 23:59:59.949; 1969-12-31 23:59:59.950; 1970-01-01 00:00:00.050
        => 1000-01-01 14:26:17.2; 1970-01-01 04:59:59.9; 1970-01-01 05:00:00.0; 1970-01-01 05:00:00.1
    a DATETIME(3) => a => DATETIME(1) => 1000-01-01 09:26:17.249; 1969-12-31 23:59:59.950
        => 1000-01-01 09:26:17.2; 1970-01-01 00:00:00.0
    a DATETIME => convert_tz(a, '+00:00', '-08:30') => DATETIME => 2020-01-01 00:00:00 => 2019-12-31 15:30:00
    a DATETIME => convert_tz(a, 'UTC', 'Europe/Berlin') => DATETIME => 2020-07-01 00:00:00 => 2020-07-01 02:00:00
    a DATE => a + interval 1 month => DATE => 2020-01-31; 0000-00-00 => 2020-02-29; NULL
    a DATE => to_days(a) => INT => 2020-01-01 => 737790
    a DATE => timestampdiff(month, '2020-01-31', a) => INT => 2020-02-29; 2020-03-31 => 0; 2
    a JSON => a->'$.k' => JSON => {"k": {"x": [1, "b,:c"]}}; {} => {"x": [1, "b,:c"]}; NULL
    a JSON => a->>'$.k' => VARCHAR(20) => {"k": "q\"é"}; {"k": null}; NULL => q"é; null; NULL
    a JSON => a->>'$.k' => INT => {"k": 5} => 5
    a JSON => json_keys(a) => JSON => {"b": 1, "c": 2}; [1] => ["b", "c"]; NULL
""")
UNFIT = cases(r"""
    a INT => a + 1 => TINYINT => 126; 127; NULL => 127; NULL; NULL => 127; 128; NULL
    a INT => a => TINYINT UNSIGNED => -1; 5 => NULL; 5 => -1; 5
    a VARCHAR(9) => a => INT => 2.5; x => 3; NULL => 2.5; x
    a DOUBLE => a => INT => 2.5; 1e30 => 2; NULL => 2.5; 1e+30
    a DOUBLE => a => DECIMAL(5,2) => 2.345; 999.995 => 2.35; NULL => 2.345; 999.995
    a DOUBLE => a * 10 => DOUBLE => 1e20; 0.5 => 1e21; 5 => 1e+21; 5.0
    a DOUBLE => a / 3 => FLOAT(7,3) => 1; 3e9 => 0.333; NULL => 0.3333333333333333; 1000000000.0
    a DECIMAL(65,1) => a => DECIMAL(65,0) => 111111111111111111111111111111111111111111111111111111111111.5 => 111111111111111111111111111111111111111111111111111111111112
        => 111111111111111111111111111111111111111111111111111111111111.5
    a VARCHAR(9) => concat(a, a) => VARCHAR(3) => a; a ; ab => aa; a a; NULL => aa; a a ; abab
    a VARBINARY(9) => a => VARCHAR(9) => Ã©; ÿ => é; NULL => Ã©; ÿ
    a VARCHAR(9) => a => DATE => 200102; 2020-02-30; x => 2020-01-02; NULL; NULL => 200102; 2020-02-30; x
    a VARCHAR(30) => a => DATE => 2020-01-02 23:59:59.6 => 2020-01-03 => 2020-01-02 23:59:59.6
    a DATETIME(1) => a => DATE => 2020-01-02 23:59:59.6 => 2020-01-02 => 2020-01-02 23:59:59.6
    a DATETIME => a => TIMESTAMP => 2050-01-01 00:00:00 => NULL => 2050-01-01 00:00:00
    a JSON => a->'$.k' => DATE => {"k": "2020-01-02"} => 2020-01-02 => "2020-01-02"
    a VARCHAR(9) => a => JSON => {"b":1}; x => {"b": 1}; NULL => {"b":1}; x
    a DATETIME => a => JSON => 2020-01-02 03:04:05 => "2020-01-02 03:04:05.000000" => 2020-01-02 03:04:05
    a INT => a => BIT(4) => 15; 16 => 15; NULL => n15; n16
    a VARCHAR(9) => a => BIT(4) => ␅; a => 5; NULL => x␅; xa
    a INT => a => ENUM('y','z') => 0; 2; 3 => NULL; z; NULL => 0; 2; 3
""")


@pytest.mark.parametrize(("columns", "expression", "type", "cells", "expected"), RESULTS)
def test_a_stored_column_holds_the_result_of_its_expression(
    columns: str, expression: str, type: str, cells: str, expected: str
) -> None:
    """It is TiDB text of the column's type."""
    assert stored(columns, expression, type, cells_of(cells)) == cells_of(expected)


@pytest.mark.parametrize(("columns", "expression", "type", "cells", "expected", "raw"), UNFIT)
def test_a_result_that_does_not_fit_a_stored_column_is_null(
    columns: str, expression: str, type: str, cells: str, expected: str, raw: str
) -> None:
    """As in strict mode, the value is rejected; the raw result of the expression is available, too."""
    found = compute_generated_columns(
        table_of(columns, expression, type), {"a": pa.array(cells_of(cells), pa.string())}
    )
    assert found.texts["x"].to_pylist() == cells_of(expected)
    assert found.raw["x"].to_pylist() == [result and result.encode("latin-1") for result in cells_of(raw)]


def test_patterns_digits_and_separators_may_be_columns_too() -> None:
    texts, patterns = ["19", "5", "a_", "ab"], ["1%", "_", "a\\_", "a\\_"]
    assert stored("a VARCHAR(9), b VARCHAR(9)", "a LIKE b", "INT", texts, patterns) == ["1", "1", "1", "0"]
    columns = "a VARCHAR(9), b VARCHAR(9)"
    joined = stored(columns, "concat_ws(a, b, null, 'x')", "VARCHAR(9)", ["-", "", None], ["é"] * 3)
    assert joined == ["é-x", "éx", None]
    cut = stored(columns, "substring_index(a, b, 2)", "VARCHAR(9)", ["a.b.c", "axb"], [".", "x"])
    assert cut == ["a.b", "axb"]
    assert stored("a INT, b INT", "round(a / 3, b)", "DECIMAL(9,3)", ["15", "-16"], ["1", "2"]) == ["5.000", "-5.330"]


def test_sha2_has_the_requested_number_of_bits() -> None:
    """It is NULL for an invalid number of bits."""
    digests = [hashlib.new(name, b"abc").hexdigest() for name in ("sha224", "sha256", "sha384", "sha512", "sha256")]
    found = [
        stored("a varchar(9)", f"sha2(a, {bits})", "varchar(200)", ["abc", None, "abc"])
        for bits in (224, 256, 384, 512, 0)
    ]
    assert found == [[digest, None, digest] for digest in digests]
    assert stored("a varchar(9)", "sha2(a, 100)", "varchar(200)", ["abc"]) == [None]


def test_columns_are_computed_after_those_that_they_depend_on() -> None:
    """Virtual columns are computed when they are needed."""
    table = create_table("CREATE TABLE d.t (a INT, v INT AS (a * 2), s INT AS (v + 1) STORED, z INT AS (s + v) STORED)")
    found = compute_generated_columns(table, {"a": pa.array(["1", None])}).texts
    assert {name: text.to_pylist() for name, text in found.items()} == {
        "a": ["1", None],
        "s": ["3", None],
        "z": ["5", None],
    }


def test_columns_in_the_files_are_not_computed() -> None:
    texts = {"a": pa.array(["1"]), "x": pa.array(["kept"])}
    assert compute_generated_columns(table_of("a INT", "a + 1", "INT"), texts) == (texts, {})


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("tidb_parse_tso(a)", "expression 'tidb_parse_tso(a)': TIDB_PARSE_TSO cannot be computed outside TiDB"),
        ("a regexp '('", "missing closing ): `(`' from regexp"),
    ],
)
def test_an_uncomputable_expression_is_an_error_if_there_is_a_row(expression: str, why: str) -> None:
    table = table_of("a VARCHAR(9)", expression, "INT")
    assert compute_generated_columns(table, {"a": pa.array([], pa.string())}).texts["x"].to_pylist() == []
    with pytest.raises(SnapshotError) as raised:
        compute_generated_columns(table, {"a": pa.array(["1"])})
    assert str(raised.value).startswith("table `d`.`t`: the files leave out generated column 'x' and ")
    assert str(raised.value).endswith(why)


@pytest.mark.slow
def test_an_expression_may_be_long_and_deep() -> None:
    """Parts are evaluated once."""
    deep = "a"
    for _ in range(40):
        deep = f"coalesce(nullif({deep}, 7), a) % 100 div 1"
    table = create_table("CREATE TABLE d.t (a INT)")
    texts = {"a": pa.array(["1", "2"])}
    for expression in (f"{deep} = 1", " or ".join(["a = 1", *["a = 5"] * 1000]), "+".join(["a"] * 500) + " = 500"):
        assert is_ignored(expression, table, texts).to_pylist() == [True, False]


NUMBERS = st.decimals(-99999999, 99999999, places=2)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_exact_numbers_stay_exact(pairs: list[tuple[Decimal, Decimal]]) -> None:
    """Quotients are truncated to eighteen digits, then rounded to the scale of their column."""
    columns = "a DECIMAL(10,2), b DECIMAL(10,2)"
    cells: tuple[Cells, ...] = tuple([str(pair[place]) for pair in pairs] for place in range(2))
    for operator, places in (("+", 2), ("-", 2), ("*", 4)):
        expected = [str(eval_exactly(operator, *pair).quantize(Decimal(1).scaleb(-places))) for pair in pairs]
        assert plain(stored(columns, f"a {operator} b", f"DECIMAL(30,{places})", *cells)) == plain(expected)
    quotients = [
        str((left / right).quantize(Decimal("1e-6"), ROUND_HALF_UP)) if right else None for left, right in pairs
    ]
    assert plain(stored(columns, "a / b", "DECIMAL(30,6)", *cells)) == plain(quotients)


def eval_exactly(operator: str, left: Decimal, right: Decimal) -> Decimal:
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def plain(texts: Sequence[str | None]) -> Cells:
    """Remove the sign of a zero."""
    return [text and (text.lstrip("-") if not Decimal(text) else text) for text in texts]
