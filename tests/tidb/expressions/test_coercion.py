"""Collations of operations and functions, recorded from TiDB v8.0."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

COLUMNS = {
    "b": "utf8mb4_bin",
    "g": "utf8mb4_general_ci",
    "u": "utf8mb4_unicode_ci",
    "n": "utf8mb4_0900_ai_ci",
    "nb": "utf8mb4_0900_bin",
    "l": "latin1_bin",
    "a": "ascii_bin",
}


@pytest.fixture(scope="module")
def ticdc() -> TiCDC:
    found = TiCDC("v8.0.0", databases=["test"])
    columns = ", ".join(f"{name} VARCHAR(9) COLLATE {collation}" for name, collation in COLUMNS.items())
    found.execute(f"CREATE TABLE test.t ({columns}, j JSON, k INT)")
    found.execute("INSERT INTO test.t VALUES ('a','a','a','a','a','a','a','{}',1)")
    return found


def answer(ticdc: TiCDC, expression: str, names: str = "utf8mb4") -> object:
    ticdc.execute(f"SET NAMES {names}")
    return next(iter(ticdc.execute(f"SELECT {expression} FROM test.t").rows))[0]


@pytest.mark.parametrize(
    ("expression", "binary", "general"),
    [
        ("'a' = 'A'", "0", "1"),
        ("CONCAT('a') = 'A'", "0", "1"),
        ("CAST('a' AS CHAR) = 'A'", "0", "1"),
        ("'ß' IN ('S')", "0", "1"),
        ("'a' BETWEEN 'A' AND 'B'", "0", "1"),
        ("'a' LIKE 'A'", "0", "1"),
        ("'a' REGEXP 'A'", "0", "1"),
        ("LOCATE('A', 'ba')", "0", "2"),
        ("FIND_IN_SET('A', 'b,a')", "0", "2"),
        ("GREATEST('A', 'a')", "a", "A"),
        ("STRCMP('a', 'A')", "1", "0"),
        ("_utf8mb4'a' = 'A'", "0", "0"),
        ("CONVERT('a' USING utf8mb4) = 'A'", "0", "0"),
        ("b = 'A'", "0", "0"),
        ("g = 'A'", "1", "1"),
        ("HEX('j') = '6a'", "0", "1"),
        ("GREATEST(g, 'A')", "A", "A"),
        ("g = X'C384'", "1", "1"),
        ("REPLACE('aAa', 'A', 'x')", "axa", "axa"),
        ("COLLATION(@@sql_mode)", "utf8mb4_bin", "utf8mb4_general_ci"),
        ("COLLATION(USER())", "utf8mb4_bin", "utf8mb4_bin"),
    ],
)
def test_literals_compare_by_the_collation_of_the_connection(
    ticdc: TiCDC, expression: str, binary: str, general: str
) -> None:
    assert str(answer(ticdc, expression)) == binary
    assert str(answer(ticdc, expression, "utf8mb4 COLLATE utf8mb4_general_ci")) == general


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CONCAT(b, g)", "utf8mb4_bin 2"),
        ("CONCAT(g, u)", "utf8mb4_bin 1"),
        ("CONCAT(g, nb)", "utf8mb4_bin 1"),
        ("CONCAT(l, g)", "utf8mb4_general_ci 2"),
        ("CONCAT(k, 'a')", "utf8mb4_bin 4"),
        ("UNHEX('41')", "binary 4"),
        ("CAST(1 AS CHAR)", "utf8mb4_bin 2"),
        ("CONCAT(g, 'a' COLLATE utf8mb4_bin)", "utf8mb4_bin 0"),
        ("j", "binary 2"),
        ("IF(k, g, k)", "utf8mb4_general_ci 2"),
        ("VERSION()", "utf8mb4_bin 3"),
        ("NULL", "binary 6"),
        ("k", "binary 5"),
    ],
)
def test_a_text_has_the_collation_of_its_arguments(ticdc: TiCDC, expression: str, expected: str) -> None:
    found = f"CONCAT(COLLATION({expression}), ' ', COERCIBILITY({expression}))"
    assert answer(ticdc, found) == expected


@pytest.mark.parametrize(
    ("expression", "number", "told"),
    [
        ("g = n", 1267, "(utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='"),
        ("n = nb", 1267, "for operation '='"),
        ("a = 'Ä'", 1267, "(ascii_bin,IMPLICIT) and (utf8mb4_bin,COERCIBLE)"),
        ("'a' COLLATE utf8mb4_general_ci = 'A' COLLATE utf8mb4_bin", 1267, "(utf8mb4_general_ci,EXPLICIT)"),
        ("g BETWEEN u AND 'x'", 1270, "for operation 'BETWEEN'"),
        ("g IN (u, 'a', 'b')", 1271, "for operation 'in'"),
        ("g LIKE u", 1267, "for operation 'like'"),
        ("'a' COLLATE nosuch", 1273, "Unknown collation: 'nosuch'"),
        ("'a' COLLATE utf8mb4_nosuch", 1273, "Unknown collation"),
        ("'a' COLLATE latin1_bin", 1253, "'utf8mb4'"),
        ("NULL COLLATE utf8mb4_bin", 1253, "COLLATION 'utf8mb4_bin' is not valid for CHARACTER SET 'binary'"),
    ],
)
def test_an_illegal_mix_of_collations_is_an_error(ticdc: TiCDC, expression: str, number: int, told: str) -> None:
    with pytest.raises(SqlError, match=".*") as refused:
        answer(ticdc, expression)
    assert refused.value.number == number
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("HEX(c)", "D6D0"),
        ("LENGTH(c)", "2"),
        ("BIT_LENGTH(c)", "16"),
        ("ORD(c)", "54992"),
        ("ASCII(c)", "214"),
        ("CHAR_LENGTH(c)", "1"),
        ("HEX(CAST(c AS BINARY))", "D6D0"),
        ("HEX(CONCAT(c, X'41'))", "D6D041"),
        ("HEX(CONVERT(c USING utf8mb4))", "E4B8AD"),
        ("HEX(CONCAT(c, v))", "D6D041"),
        ("MD5(c) = MD5(X'D6D0')", "1"),
        ("c = X'D6D0'", "1"),
        ("c = v", "0"),
    ],
)
def test_the_bytes_of_a_text_depend_on_its_charset(expression: str, expected: str) -> None:
    ticdc = TiCDC("v8.0.0", databases=["test"])
    ticdc.execute("CREATE TABLE test.k (c VARCHAR(9) CHARACTER SET gbk, v VARBINARY(9))")
    ticdc.execute("INSERT INTO test.k VALUES ('中', 'A')")
    (row,) = ticdc.execute(f"SELECT {expression} FROM test.k").rows
    assert str(row[0]) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SET NAMES latin1", "latin1 latin1_bin"),
        ("SET NAMES utf8 COLLATE utf8_general_ci", "utf8 utf8_general_ci"),
        ("SET CHARACTER SET latin1", "utf8mb4 utf8mb4_bin"),
        ("SET character_set_connection = ascii", "ascii ascii_bin"),
        ("SET collation_connection = latin1_bin", "latin1 latin1_bin"),
    ],
)
def test_the_charset_and_the_collation_of_the_connection_are_set_together(
    ticdc: TiCDC, statement: str, expected: str
) -> None:
    ticdc.execute("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
    ticdc.execute(statement)
    (found,) = ticdc.execute("SELECT @@character_set_connection, @@collation_connection").rows
    ticdc.execute("SET NAMES utf8mb4")
    assert " ".join(map(str, found)) == expected


@pytest.mark.parametrize(
    ("columns", "number"), [("g UNION SELECT n", 1271), ("g UNION SELECT b", 0), ("a UNION SELECT 'Ä'", 1271)]
)
def test_a_union_has_one_collation(ticdc: TiCDC, columns: str, number: int) -> None:
    query = f"SELECT {columns} FROM test.t".replace(" UNION", " FROM test.t UNION")
    if not number:
        assert [tuple(row) for row in ticdc.execute(query).rows] == [("a",)]
        return
    with pytest.raises(SqlError, match="for operation 'UNION'") as refused:
        ticdc.execute(query)
    assert refused.value.number == number
