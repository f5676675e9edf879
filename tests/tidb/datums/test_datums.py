"""What a column makes of values of every kind, in each mode, as a real TiDB v8.0 was seen to do it.

Sources: tidb pkg/types/datum.go (ConvertTo), pkg/types/convert.go, pkg/types/time.go, pkg/table/column.go (CastValue,
handleZeroDatetime), pkg/executor/insert_common.go (completeInsertErr).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.upstreams import cases, grouped, in_test, played, refusal_number, refused, rows_in, selected

from simulator import TiCDC
from simulator.errors import SqlError, UserError
from simulator.releases import find
from simulator.tidb.datums import Datum, Mode, datums_of
from simulator.tidb.datums.cast import FEW, cast_column
from simulator.tidb.ddl.table_definitions import create_table

NEW = in_test(find("v8.0.0"))

FITS = grouped(r"""
    INT => '12.5' => 13
    INT => 12.5e0 => 12
    INT => 2.5 => 3
    INT => '-12.5' => -13
    INT => ' 7 ' => 7
    INT => '1e2' => 100
    INT => 0x41 => 65
    INT | JSON => TRUE => 1
    INT => DATE'2020-01-01' => 20200101
    INT => TIME'-10:00:00.5' => -100000
    BIGINT UNSIGNED => '18446744073709551615' => 18446744073709551615
    DECIMAL(5,2) => -0.0 => 0.00
    DECIMAL(65,30) => '1' => 1.000000000000000000000000000000
    FLOAT(7,2) | JSON => -0.0 => 0
    FLOAT => '0.1' => 0.1
    FLOAT => '16777217' => 16777216
    DOUBLE => '1e20' => 1e20
    BIT(64) => -128 => 18446744073709551488
    BIT(1) => 'true' => 1
    BIT(12) => "b'101'" => 5
    BIT(8) => 255 => 255
    BIT(8) => x'01' => 1
    YEAR => '0' => 2000
    YEAR => 0 => 0
    YEAR => '70' => 1970
    YEAR => 1.5 => 2002
    YEAR => DATE'2020-01-01' => 2020
    DATE => 20200229 => 2020-02-29
    DATE => 101 => 2000-01-01
    DATETIME => 20200229101112 => 2020-02-29 10:11:12
    DATETIME => '2020-01-01 23:59:59.5' => 2020-01-02 00:00:00
    DATETIME(3) => '2020-01-01' => 2020-01-01 00:00:00.000
    DATETIME => '2020-01-01T10:20:30Z' => 2020-01-01 10:20:30
    DATETIME => '2020-01-01 10:20:30+05:00' => 2020-01-01 05:20:30
    TIMESTAMP(6) => '2020-01-01 10:00:00.1234567' => 2020-01-01 10:00:00.123457
    TIME => DATE'2020-01-01' => 00:00:00
    TIME => TIME'-10:00:00.5' => -10:00:00
    TIME(1) => '-838:59:58.95' => -838:59:59.0
    TIME => '101' => 00:01:01
    ENUM('a','2') => '2' => 2
    ENUM('a','2') => 2 => 2
    ENUM('2','a') => 2 => a
    ENUM('a','b') => CAST('1' AS JSON) => a
    SET('a','b','c') => 'c,a' => a,c
    SET('a','b','c') => 5 => a,c
    SET('a','b') => 2.5e0 => b
    JSON => TIME'10:00:00' => "10:00:00.000000"
    JSON => '{"b": 1, "a": [1.0, null]}' => {"a": [1, null], "b": 1}
    CHAR(4) => 'ab  ' => ab
    CHAR(3) => -0.0 => 0.0
    TEXT => 1.5 => 1.5
    BINARY(3) => x'41' => A␀␀
    BINARY(3) => x'ff' => ÿ␀␀
    VARBINARY(3) => x'ff' => ÿ
""")

MISFITS = cases(r"""
    TINYINT => '300' => 127 => 1264 Out of range value for column 'c' at row 2
    TINYINT => '12abc' => 12 => 1366
    TINYINT UNSIGNED => '-5' => 0 => 1264
    TINYINT UNSIGNED => -1 => 0 => 1264
    TINYINT UNSIGNED => '1.5abc' => 2 => 1264 => 1366
    INT => '2147483648' => 2147483647 => 1264 Out of range value for column 'c' at row 2
    INT => '12abc' => 12 => 1366 Incorrect int value: '12abc' for column 'c' at row 2
    INT => '12.6kg' => 13 => 1264 => 1366
    INT => 'abc' => 0 => 1366 Incorrect int value: 'abc' for column 'c' at row 2
    INT => '' => 0 => 1366 Incorrect int value: '' for column 'c' at row 2
    INT => CAST('"a"' AS JSON) => 0 => 1366
    BIGINT UNSIGNED => -0.4 => 0 => 1264
    BIGINT UNSIGNED => '99999999999999999999' => 18446744073709551615 => 1264
    DECIMAL(10,0) => '1e-400' => 0 => 1366
    DECIMAL(5,2) => '999.995' => 999.99 => 1264
    DECIMAL(5,2) UNSIGNED => -1 => 0.00 => 1264
    DECIMAL(3,1) => '100' => 99.9 => 1264 Out of range value for column 'c' at row 2
    DECIMAL(3,1) => 'x' => 0.0 => 1366 Incorrect decimal value: 'x' for column 'c' at row 2
    DECIMAL(4,1) => '-12345' => -999.9 => 1264
    DECIMAL(4,1) => '1.25x' => 1.3 => 1366
    FLOAT => '1e40' => 3.4028235e38 => 1264 Out of range value for column 'c' at row 2
    FLOAT => 1e39 => ? => 1264
    FLOAT => '-1e50' => -3.4028235e38 => 1264
    DOUBLE => '1e400' => 1.7976931348623157e308 => 1366
    DOUBLE => '1.5kg' => 1.5 => 1366 Incorrect double value: '1.5kg' for column 'c' at row 2
    DOUBLE => 'x' => 0 => 1366
    BIT(12) => -2.5 => 0 => 1264
    BIT(12) => 4096 => 4095 => 1406
    BIT(2) => 4 => 3 => 1406 Data too long for column 'c' at row 2
    YEAR => '1.5abc' => 2002 => 1264 => 1366
    YEAR => '1900' => 1901 => 1264 Out of range value for column 'c' at row 2
    YEAR => '1800' => 1901 => 1264
    YEAR => '3000' => 2155 => 1264
    DATE => '2021-02-30' => 0000-00-00 => 1292 Incorrect date value: '2021-02-30' for column 'c' at row 2
    DATE => '2021-00-10' => ? => 1292 Incorrect date value: '2021-00-10' for column 'c' at row 2
    DATE => 1 => 0000-00-00 => 1292
    DATETIME => '2021-02-30' => 0000-00-00 00:00:00
        => 1292 Incorrect datetime value: '2021-02-30' for column 'c' at row 2
    DATETIME => '0000-00-00' => ? => 1292 Incorrect datetime value: '0000-00-00' for column 'c' at row 2
    DATETIME => '2020-01-01 10:20:30-00:00' => 0000-00-00 00:00:00 => 1292
    DATETIME(2) => 'x' => 0000-00-00 00:00:00.00 => 1292
    DATETIME(3) => 1/3 => ? => 1292
    TIMESTAMP => '2039-01-01' => 0000-00-00 00:00:00
        => 1292 Incorrect timestamp value: '2039-01-01' for column 'c' at row 2
    TIMESTAMP => '1970-01-01' => 0000-00-00 00:00:00
        => 1292 Incorrect timestamp value: '1970-01-01' for column 'c' at row 2
    TIME => '25:99:00' => ? => 1292 Incorrect time value: '25:99:00' for column 'c' at row 2
    TIME => '1abc' => 00:00:01 => 1292
    TIME => 'x' => 00:00:00 => 1292
    TIME => '-900:00:00' => -838:59:59 => 1292
    TIME => 4294967296 => 838:59:59 => 1292
    TIME => -2147483649 => NULL => 1292
    TIME => 1e20 => NULL => 1264
    TIME => 9223372036854775807 => 838:59:59 => 1292
    ENUM('a','b') => 'c' =>  => 1265 Data truncated for column 'c' at row 2
    ENUM('a','b') => '' =>  => 1265 Data truncated for column 'c' at row 2
    ENUM('a','b') => 3 =>  => 1265 Data truncated for column 'c' at row 2
    ENUM('a','b') => 18446744073709551615 =>  => 1265
    SET('a','b') => 'a,c' =>  => 1265 Data truncated for column 'c' at row 2
    VARCHAR(3) => 'abcd' => abc => 1406 Data too long for column 'c' at row 2
    VARCHAR(3) => 'äöüß' => äöü => 1406
    VARCHAR(3) => x'61ff62' => a => 1366 Incorrect string value '\xFF' for column 'c'
    VARCHAR(3) CHARACTER SET ascii => 'é1' => ?1 => 1366
    VARBINARY(3) => 'abc ' => abc => 1406 Data too long for column 'c' at row 2
    VARBINARY(2) => x'fffefd' => ÿþ => 1406
    INT NOT NULL => NULL => 0 => 1048 Column 'c' cannot be null
    ENUM('a','b') NOT NULL => NULL =>  => 1048
""")

IN_NO_MODE = cases("""
    YEAR => 1e39 => 1105
    DATE => 1.5e0 => 1105
    DATE => x'41' => 1105
    TIMESTAMP => 18446744073709551615 => 1105
    JSON => x'41' => 3144
    JSON => 'x' => 3140 Invalid JSON text: The document root must not be followed by other values.
""")


def stored(type: str, value: str, mode: str, verb: str = "INSERT") -> tuple[list[str], list[str]]:
    """The texts of a column and the numbers of the warnings behind an INSERT of a value in two rows."""
    script = f"SET sql_mode = {mode}; CREATE TABLE t (c {type}); {verb} INTO t VALUES ({value}), ({value})"
    outcome = played(script, NEW)
    return [str("NULL" if text is None else text) for (text,) in rows_in(outcome.upstream, "t")], [
        warning.partition(" ")[0] for warning in outcome.warnings
    ]


def strict_error(type: str, value: str) -> str:
    first = "'a'" if type.endswith("NOT NULL") and type.startswith("ENUM") else "1" if "NOT NULL" in type else "NULL"
    return refused(f"CREATE TABLE t (c {type}); INSERT INTO t VALUES ({first}), ({value})", NEW)


@pytest.mark.parametrize(("type", "value", "text"), FITS)
def test_a_value_is_stored_as_tidb_prints_it(type: str, value: str, text: str) -> None:
    for mode in ("DEFAULT", "''"):
        assert stored(type, value, mode) == ([text] * 2, [])


def test_a_decimal_that_is_rounded_is_warned_of() -> None:
    """pkg/types/datum.go, ProduceDecWithSpecifiedTp."""
    assert stored("DECIMAL(5,2)", "'1.005'", "DEFAULT") == (["1.01"] * 2, ["1366"] * 2)


@pytest.mark.parametrize("case", MISFITS, ids=" ".join)
def test_strict_mode_refuses_what_does_not_fit_and_others_store_the_nearest_value(case: tuple[str, ...]) -> None:
    """The number of the warning is that of the error, or the last one of the case."""
    type, value, nearest, error, *_ = case
    found = strict_error(type, value)
    assert error in (found, found.partition(" ")[0])
    for mode, verb in (("DEFAULT", "INSERT IGNORE"), ("'NO_ZERO_DATE'", "INSERT")) if nearest != "?" else ():
        assert stored(type, value, mode, verb) == ([nearest] * 2, [case[-1].partition(" ")[0]] * 2)


@pytest.mark.parametrize(("type", "value", "error"), IN_NO_MODE)
def test_insert_ignore_alone_forgives_what_no_mode_does(type: str, value: str, error: str) -> None:
    """pkg/executor/insert_common.go, handleErr; pkg/types/truncate.go, HandleTruncate: an UPDATE IGNORE does not."""
    assert strict_error(type, value).startswith(error)
    lenient = refused(f"SET sql_mode = ''; CREATE TABLE t (c {type}); INSERT INTO t VALUES ({value})", NEW)
    assert lenient.startswith(error)
    assert type == "YEAR" or stored(type, value, "DEFAULT", "INSERT IGNORE")[0] == ["NULL"] * 2
    assert refused(f"CREATE TABLE t (c {type}); INSERT INTO t VALUES (NULL); UPDATE IGNORE t SET c = {value}", NEW)


MODES = cases("""
    ALLOW_INVALID_DATES => DATE => 2021-02-30 => 2021-02-30
    ALLOW_INVALID_DATES => DATETIME(1) => 2021-04-31 10:00:00 => 2021-04-31 10:00:00.0
    ALLOW_INVALID_DATES => TIMESTAMP => 2021-02-30 => 1292
    ALLOW_INVALID_DATES => DATE => 2021-02-32 => 1292
    STRICT_TRANS_TABLES => DATE => 0000-00-00 => 0000-00-00
    STRICT_TRANS_TABLES => TIMESTAMP => 0000-00-00 => 0000-00-00 00:00:00
    STRICT_TRANS_TABLES => DATE => 2021-00-10 => 2021-00-10
    NO_ZERO_IN_DATE => DATE => 2021-00-10 => 1292
    NO_ZERO_DATE => DATE => 0000-00-00 => 1292
    STRICT_TRANS_TABLES => TIMESTAMP => 2021-00-10 => 1292
""")


@pytest.mark.parametrize(("mode", "type", "value", "result"), MODES)
def test_sql_mode_decides_which_dates_are_valid(mode: str, type: str, value: str, result: str) -> None:
    script = f"SET sql_mode = 'STRICT_TRANS_TABLES,{mode}'; CREATE TABLE t (c {type}); INSERT INTO t VALUES ('{value}')"
    if result == "1292":
        assert refusal_number(script, NEW) == 1292
    else:
        assert rows_in(played(script, NEW).upstream, "t") == [(result,)]


WORDS = cases("""
    INSERT INTO t(c) VALUES (1), ('12ab') => 1366 Incorrect tinyint value: '12ab' for column 'c' at row 2
    INSERT INTO t(c) SELECT a FROM s => 1292 Truncated incorrect DOUBLE value: '12ab'
    INSERT INTO t(c) SELECT n FROM s => 1690 constant 300 overflows tinyint
    UPDATE t SET c = c * 100 => 1264 Out of range value for column 'c' at row 1
    UPDATE t SET c = '12ab' => 1292 Truncated incorrect DOUBLE value: '12ab'
    UPDATE t SET d = 'x' => 1292 Incorrect datetime value: 'x'
    UPDATE t SET c = NULL => 1048 Column 'c' cannot be null
    UPDATE t SET e = 'y' => 1265 Data truncated for column '%s' at row %d
""")


@pytest.mark.parametrize(("statement", "error"), WORDS)
def test_each_statement_words_an_error_in_its_own_way(statement: str, error: str) -> None:
    """VALUES tells column and row, UPDATE always row 1, INSERT … SELECT nothing (pkg/executor/update.go, handleErr)."""
    tables = (
        "CREATE TABLE s (a VARCHAR(9), n INT); INSERT INTO s VALUES ('1', 1), ('12ab', 300); "
        "CREATE TABLE t (c TINYINT NOT NULL, e ENUM('x'), d DATETIME); INSERT INTO t VALUES (1, 'x', NULL), (2, 'x', NULL)"
    )
    assert refused(f"{tables}; {statement}", NEW) == error


def test_columns_of_every_kind_keep_their_kind() -> None:
    upstream = played(
        "CREATE TABLE s (f FLOAT, u INT UNSIGNED, b BIT(12), e ENUM('x','3'), w SET('a','b'), d DATE); "
        "INSERT INTO s VALUES (1.1, 4000000000, 77, '3', 'a,b', '2020-01-02'); "
        "CREATE TABLE t (p DECIMAL(20,10), n BIGINT, j JSON, ts TIMESTAMP)",
        NEW,
    ).upstream
    for column, value, expected in (
        ("p", "f", "1.1000000238"),
        ("n", "e", "2"),
        ("n", "w", "3"),
        ("n", "d", "20200102"),
        ("j", "f", "1.100000023841858"),
        ("j", "b", '"\\u0000M"'),
    ):
        script = f"INSERT INTO t({column}) SELECT {value} FROM s; SELECT {column} FROM t"
        assert selected(script, upstream) == [(expected,)]
    for value, kind in (("f", "float"), ("u", "unsigned bigint"), ("b", "bit"), ("e", "enum"), ("w", "set")):
        error = refused(f"INSERT INTO t(ts) SELECT {value} FROM s", upstream)
        assert error == f"1105 cannot convert datum from {kind} to type timestamp"


@pytest.mark.parametrize(
    ("type", "value", "strict", "lenient"),
    [
        ("VARCHAR(9)", "x'636166c3a9'", "café", "café"),
        ("VARCHAR(4)", "x'636166e9'", b"caf\xe9", b"caf\xe9"),
        ("CHAR(6)", "x'e92020'", b"\xe9", b"\xe9"),
        ("TINYTEXT", "x'e9ff'", b"\xe9\xff", b"\xe9\xff"),
        ("VARCHAR(4)", "x'e3e9e9c3c3a9'", None, b"\xe3\xe9\xe9\xc3"),
    ],
)
def test_latin1_takes_any_bytes_and_shows_a_text_that_is_no_utf8_as_bytes(
    type: str, value: str, strict: str | bytes | None, lenient: str | bytes
) -> None:
    for mode, verb, expected in (("DEFAULT", "", strict), ("''", "", lenient), ("DEFAULT", "IGNORE", lenient)):
        script = (
            f"SET sql_mode = {mode}; CREATE TABLE t (c {type} CHARACTER SET latin1); INSERT {verb} t VALUES ({value})"
        )
        if expected is None:
            assert refusal_number(script, NEW) == 1406
            continue
        with TiCDC("v8.0.0") as ticdc:
            ticdc.execute(script)
            assert ticdc.rows("test.t")[0]["c"] == expected


LATIN = cases(r"""
    UPDATE t SET c = s, b = s WHERE id = 1 => stored
    UPDATE t SET c = s, b = s WHERE id + 0 = 1 => stored
    REPLACE INTO t SELECT 1, s, s, NULL, s FROM t WHERE id = 1 => stored
    UPDATE t SET u = s WHERE id = 1 => 1366 (HY000): Incorrect string value '\xE9' for column 'u'
    INSERT INTO t (id, s) VALUES (3, X'636166E9') => 1062 (23000): Duplicate entry 'caf�' for key 't.s'
    INSERT INTO t (id, s) VALUES (3, X'C3A9') => 1062 (23000): Duplicate entry 'é' for key 't.s'
    ALTER TABLE t MODIFY s VARCHAR(5) => 1366 (HY000): Incorrect string value '\xE9' for column 's'
""")


@pytest.mark.parametrize(("statement", "result"), LATIN)
def test_bytes_of_latin1_go_from_column_to_column(statement: str, result: str) -> None:
    with TiCDC("v8.0.0") as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1, c CHAR(9) CHARACTER SET latin1, "
            "u VARCHAR(9), b VARBINARY(9), UNIQUE (s)); INSERT INTO t (id, s) VALUES (1, X'636166e9'), (2, 'é')"
        )
        if result != "stored":
            with pytest.raises(SqlError, match=rf"ERROR {re.escape(result)}"):
                ticdc.execute(statement)
            return
        ticdc.execute(statement)
        row = ticdc.rows("test.t")[0]
        assert (row["c"], row["b"]) == (b"caf\xe9", b"caf\xe9")
        assert ("1", b"caf\xe9") in ticdc.execute("SELECT id, s FROM t ORDER BY id").rows


def test_bytes_of_latin1_are_computed_with() -> None:
    with TiCDC("v8.0.0") as ticdc:
        ticdc.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1, u VARCHAR(9), UNIQUE (s))"
        )
        ticdc.execute("INSERT INTO t (id, s) VALUES (1, X'636166e9'), (2, 'é'); UPDATE t SET u = HEX(s)")
        ticdc.execute("UPDATE t SET id = id + 9 ORDER BY s LIMIT 1; UPDATE t SET id = id + 5 WHERE s LIKE 'c%'")
        assert ticdc.execute("SELECT id, u FROM t ORDER BY id").rows == (("2", "C3A9"), ("15", "636166E9"))


def test_messages_say_ufffd_for_each_byte_that_is_no_utf8_and_csv_has_the_byte(tmp_path: Path) -> None:
    for protocol in ("open-protocol", "canal-json"):
        with TiCDC("v8.0.0", sink_uri=f"kafka://k/t?protocol={protocol}") as ticdc:
            ticdc.execute(
                "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) CHARACTER SET latin1); "
                "INSERT INTO t VALUES (1, X'636166e9')"
            )
            assert any(b'"caf\\ufffd"' in (message.value or b"") for message in ticdc.messages())
            ticdc.truth(tmp_path / protocol)
            assert (tmp_path / protocol / "test.t.csv").read_bytes().endswith(b'\n1,"caf\xe9"\n')
            with pytest.raises(UserError, match="Parquet"):
                ticdc.truth(tmp_path / "parquet", "parquet")


TEXTS = {
    "string": "1|-1|1.5|007| 4 |1e3|1e-400|abc||2020-01-01|2020-01-01 10:11:12.50|2020-02-30|0000-00-00|2020-00-01"
    "|-10:11:12.5|900:00:00|1970-01-01 00:00:00|2038-01-19 03:14:08|é|a  |300|-0|-0.0|1.005|[1, 2.50]|1e400|inf|\t1",
    "int": "0|-1|300|20200101",
    "uint": "0|18446744073709551615",
    "decimal": "0.0|-0.5|99.995|-99999.5",
    "double": "-0.0|2.5|-0.4|1e+39|123.456",
    "date": "2020-01-01|0000-00-00|2020-00-01",
    "datetime": "2020-12-31 23:59:59.99|2040-01-01 00:00:00",
    "time": "10:11:12|-10:11:12.55",
    "json": '1|"a"|null',
}
TYPES = (
    "TINYINT|BIGINT UNSIGNED|DECIMAL(5,2)|FLOAT|FLOAT(6,2)|DOUBLE UNSIGNED|CHAR(3)|VARBINARY(5)|DATE|DATETIME(2)|TIMESTAMP"
    "|TIME(1)|YEAR|JSON|ENUM('a','1')|BIT(9)"
)


@pytest.mark.parametrize("type", TYPES.split("|"))
@pytest.mark.parametrize("sql_mode", ["STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", ""])
def test_a_value_is_cast_alike_alone_and_among_many(type: str, sql_mode: str) -> None:
    column, mode = create_table(f"CREATE TABLE t (c {type})", "d").columns[0], Mode(frozenset(sql_mode.split(",")))
    given = [Datum(kind, text.encode()) for kind, texts in TEXTS.items() for text in texts.split("|")]
    assert len(given) > FEW
    among = cast_column(column, datums_of([*given, None]), mode)
    alone = [cast_column(column, datums_of([datum]), mode) for datum in given]
    assert among.texts.to_pylist() == [*(found.texts[0].as_py() for found in alone), None]
    assert [(misfit.row, misfit.problem) for misfit in among.misfits] == [
        (row, misfit.problem) for row, found in enumerate(alone) for misfit in found.misfits
    ]


@pytest.mark.parametrize("rows", [1, 40])
def test_a_column_keeps_no_negative_zero(rows: int) -> None:
    """TiDB's storage has none (pkg/util/codec/float.go), however many rows a statement writes."""
    values = ", ".join(f"({id}, -0.004, '-0.0', -0e0)" for id in range(rows))
    with TiCDC(databases=["d"]) as ticdc:
        ticdc.execute("CREATE TABLE d.t (id INT PRIMARY KEY, a FLOAT(7, 2), b FLOAT, c DOUBLE)")
        ticdc.execute(f"INSERT INTO d.t VALUES {values}")
        assert {"0.0"} == {str(row[name]) for row in ticdc.rows("d.t") for name in "abc"}
