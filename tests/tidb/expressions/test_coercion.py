"""Collations of operations and functions, recorded from TiDB v8.0."""

from __future__ import annotations

import pytest
from support.upstreams import cases, grouped, in_test, played, refused, shown

from simulator.releases import find

TABLE = played(
    """CREATE TABLE t (b VARCHAR(9) COLLATE utf8mb4_bin, g VARCHAR(9) COLLATE utf8mb4_general_ci,
        u VARCHAR(9) COLLATE utf8mb4_unicode_ci, n VARCHAR(9) COLLATE utf8mb4_0900_ai_ci,
        nb VARCHAR(9) COLLATE utf8mb4_0900_bin, l VARCHAR(9) COLLATE latin1_bin, a VARCHAR(9) COLLATE ascii_bin,
        j JSON, k INT);
    INSERT INTO t VALUES ('a','a','a','a','a','a','a','{}',1);
    CREATE TABLE c (c VARCHAR(9) CHARACTER SET gbk, v VARBINARY(9)); INSERT INTO c VALUES ('中', 'A')""",
    in_test(find("v8.0.0")),
).upstream

COMPARED = grouped("""
    'a' = 'A' | CONCAT('a') = 'A' | CAST('a' AS CHAR) = 'A' | 'ß' IN ('S') | 'a' BETWEEN 'A' AND 'B' => 0 => 1
    'a' LIKE 'A' | 'a' REGEXP 'A' | HEX('j') = '6a' => 0 => 1
    LOCATE('A', 'ba') | FIND_IN_SET('A', 'b,a') => 0 => 2
    GREATEST('A', 'a') => a => A
    STRCMP('a', 'A') => 1 => 0
    _utf8mb4'a' = 'A' | CONVERT('a' USING utf8mb4) = 'A' | b = 'A' => 0 => 0
    g = 'A' | g = X'C384' => 1 => 1
    GREATEST(g, 'A') => A => A
    REPLACE('aAa', 'A', 'x') => axa => axa
    COLLATION(@@sql_mode) => utf8mb4_bin => utf8mb4_general_ci
    COLLATION(USER()) => utf8mb4_bin => utf8mb4_bin
""")


@pytest.mark.parametrize(("expression", "binary", "general"), COMPARED)
def test_literals_compare_by_the_collation_of_the_connection(expression: str, binary: str, general: str) -> None:
    assert shown(f"SELECT {expression} FROM t", TABLE) == binary
    assert shown(f"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci; SELECT {expression} FROM t", TABLE) == general


COLLATIONS = grouped("""
    CONCAT(b, g) | CAST(1 AS CHAR) => utf8mb4_bin 2
    CONCAT(g, u) | CONCAT(g, nb) => utf8mb4_bin 1
    CONCAT(l, g) | IF(k, g, k) => utf8mb4_general_ci 2
    CONCAT(k, 'a') => utf8mb4_bin 4
    UNHEX('41') => binary 4
    CONCAT(g, 'a' COLLATE utf8mb4_bin) => utf8mb4_bin 0
    j => binary 2
    VERSION() => utf8mb4_bin 3
    NULL => binary 6
    k => binary 5
""")


@pytest.mark.parametrize(("expression", "expected"), COLLATIONS)
def test_a_text_has_the_collation_of_its_arguments(expression: str, expected: str) -> None:
    assert shown(f"SELECT COLLATION({expression}), COERCIBILITY({expression}) FROM t", TABLE) == expected.replace(
        " ", ","
    )


ILLEGAL = cases("""
    g = n => 1267 => (utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='
    n = nb => 1267 => for operation '='
    a = 'Ä' => 1267 => (ascii_bin,IMPLICIT) and (utf8mb4_bin,COERCIBLE)
    'a' COLLATE utf8mb4_general_ci = 'A' COLLATE utf8mb4_bin => 1267 => (utf8mb4_general_ci,EXPLICIT)
    g BETWEEN u AND 'x' => 1270 => for operation 'BETWEEN'
    g IN (u, 'a', 'b') => 1271 => for operation 'in'
    g LIKE u => 1267 => for operation 'like'
    'a' COLLATE nosuch => 1273 => Unknown collation: 'nosuch'
    'a' COLLATE utf8mb4_nosuch => 1273 => Unknown collation
    'a' COLLATE latin1_bin => 1253 => 'utf8mb4'
    NULL COLLATE utf8mb4_bin => 1253 => COLLATION 'utf8mb4_bin' is not valid for CHARACTER SET 'binary'
    g FROM t UNION SELECT n => 1271 => for operation 'UNION'
    a FROM t UNION SELECT 'Ä' => 1271 => for operation 'UNION'
""")


@pytest.mark.parametrize(("expression", "number", "told"), ILLEGAL)
def test_an_illegal_mix_of_collations_is_an_error(expression: str, number: str, told: str) -> None:
    found = refused(f"SELECT {expression} FROM t", TABLE)
    assert found.startswith(f"{number} ") and told in found


def test_a_union_has_one_collation() -> None:
    assert shown("SELECT g FROM t UNION SELECT b FROM t", TABLE) == "a"


BYTES = grouped("""
    HEX(c) | HEX(CAST(c AS BINARY)) => D6D0
    LENGTH(c) => 2
    BIT_LENGTH(c) => 16
    ORD(c) => 54992
    ASCII(c) => 214
    CHAR_LENGTH(c) | MD5(c) = MD5(X'D6D0') | c = X'D6D0' => 1
    HEX(CONCAT(c, X'41')) | HEX(CONCAT(c, v)) => D6D041
    HEX(CONVERT(c USING utf8mb4)) => E4B8AD
    c = v => 0
""")


@pytest.mark.parametrize(("expression", "expected"), BYTES)
def test_the_bytes_of_a_text_depend_on_its_charset(expression: str, expected: str) -> None:
    assert shown(f"SELECT {expression} FROM c", TABLE) == expected


CONNECTIONS = cases("""
    SET NAMES latin1 => latin1,latin1_bin
    SET NAMES utf8 COLLATE utf8_general_ci => utf8,utf8_general_ci
    SET CHARACTER SET latin1 => utf8mb4,utf8mb4_bin
    SET character_set_connection = ascii => ascii,ascii_bin
    SET collation_connection = latin1_bin => latin1,latin1_bin
""")


@pytest.mark.parametrize(("statement", "expected"), CONNECTIONS)
def test_the_charset_and_the_collation_of_the_connection_are_set_together(statement: str, expected: str) -> None:
    query = f"{statement}; SELECT @@character_set_connection, @@collation_connection"
    assert shown(f"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci; {query}", TABLE) == expected
