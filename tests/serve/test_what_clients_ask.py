"""What object mappers, drivers and pools ask a server for, in both protocols."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import mysql.connector
import pymysql
import pytest

from simulator.api.server import ServedDatabase

MORE = 2**64 - 1

TABLES = (
    "CREATE TABLE flag (id INT PRIMARY KEY, one BIT(1), twelve BIT(12))",
    "INSERT INTO flag VALUES (1, b'1', 2730), (2, 0, 0)",
    "CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, g INT, v DOUBLE, s SET('', 'a', 'b'))",
    "INSERT INTO item (g, v, s) VALUES (1, 1, 'a'), (1, 2, ''), (2, 4, 'a,b')",
    "CREATE TABLE last (id BIGINT PRIMARY KEY AUTO_INCREMENT)",
    "CREATE VIEW total AS SELECT g, SUM(v) AS v FROM item GROUP BY g",
    "CREATE SEQUENCE number START 5",
    "CREATE TABLE numbered (id INT PRIMARY KEY DEFAULT NEXT VALUE FOR number, n INT)",
)

ANSWERS: dict[str, Any] = {
    "SELECT * FROM flag": ((1, b"\x01", b"\x0a\xaa"), (2, b"\x00", b"\x00\x00")),
    "SELECT x.one FROM (SELECT one FROM flag WHERE one) x": ((b"\x01",),),
    "SELECT MAX(twelve), twelve + 0 FROM flag WHERE id = 1 GROUP BY twelve": ((b"\x0a\xaa", 2730),),
    "SELECT one FROM flag UNION ALL SELECT NULL UNION ALL SELECT one FROM flag WHERE one": (
        *((b"\x01",), (b"\x00",), (None,), (b"\x01",)),
    ),
    "SELECT one FROM flag UNION SELECT 7 ORDER BY 1": ((0,), (1,), (7,)),
    f"SELECT id FROM item ORDER BY id LIMIT {MORE} OFFSET 1": ((2,), (3,)),
    "SELECT DISTINCT g + 1 FROM item ORDER BY g + 1": ((2,), (3,)),
    "SELECT COUNT(*) FROM item WHERE g = 1 GROUP BY g ORDER BY RAND()": ((2,),),
    "SELECT LAST_INSERT_ID(7)": ((7,),),
    "SELECT LAST_INSERT_ID()": ((7,),),
    "SELECT ROUND(STDDEV(v), 4), ROUND(VAR_SAMP(v), 4) FROM item": ((1.2472, 2.3333),),
    "SELECT v, SUM(v) OVER (ORDER BY v RANGE 1 PRECEDING) FROM item": ((1.0, 1.0), (2.0, 3.0), (4.0, 4.0)),
    "SELECT RAND(1) = RAND(1), RAND(1) = RAND(2)": ((1, 0),),
    "SELECT @a := 1": ((1,),),
    "SELECT @a": ((1,),),
    "SELECT TIME'10:00'": ((timedelta(hours=10),),),
    "SELECT s + 0 FROM item": ((2.0,), (0.0,), (6.0,)),
    "SELECT * FROM total ORDER BY g": ((1, 3.0), (2, 4.0)),
    "SELECT table_type FROM information_schema.tables WHERE table_name = 'total' AND table_schema = DATABASE()": (
        ("VIEW",),
    ),
    "SELECT 1 + GET_LOCK('a', 10), RELEASE_LOCK('a')": ((2, 1),),
    "SELECT NEXT VALUE FOR number, NEXTVAL(number), LASTVAL(number)": ((5, 6, 6),),
    "SELECT SETVAL(number, 10)": ((10,),),
    "SHOW STATUS LIKE 'Ssl_cipher'": (("Ssl_cipher", ""),),
    "SHOW DATABASES LIKE 'sys'": (("sys",),),
}
"""Statements in their order with their rows."""

NOOP = {
    "SELECT SQL_CALC_FOUND_ROWS id FROM item": "SQL_CALC_FOUND_ROWS",
    "SELECT * FROM item LOCK IN SHARE MODE": "LOCK IN SHARE MODE",
    "START TRANSACTION READ ONLY": "READ ONLY",
}
"""Statements that need `tidb_enable_noop_functions`."""


@pytest.fixture
def client(ticdc_server: ServedDatabase, connect: Callable[..., Any]) -> Any:
    found = connect(ticdc_server.port, database=ticdc_server.name)
    found.run(*TABLES)
    return found


def test_statements_are_answered(client: Any) -> None:
    assert {statement: client.run(statement) for statement in ANSWERS} == ANSWERS


def test_noop_functions_are_refused_unless_they_are_enabled(client: Any) -> None:
    for statement, function in NOOP.items():
        number, text = client.error(statement)
        assert (number, text.startswith(f"function {function} has only noop")) == (1235, True)
    client.run("SET tidb_enable_noop_functions = 'WARN'")
    for statement in NOOP:
        client.run(statement)
        assert [row[1] for row in client.run("SHOW WARNINGS")] == [1235]


def test_a_syntax_error_is_told_behind_the_warnings_of_the_statement_before_it(client: Any) -> None:
    client.run("SELECT 1 / 0")
    assert client.error("SHOW WARNINGS LIMIT 1")[0] == 1064
    assert [row[1] for row in client.run("SHOW WARNINGS")] == [1365, 1064]
    assert [row[1] for row in client.run("SHOW ERRORS")] == [1064]


def test_ids_are_those_of_the_statement(client: Any) -> None:
    with client.cursor() as cursor:
        cursor.execute(f"INSERT INTO last VALUES ({2**63 - 1})")
        assert cursor.lastrowid == 2**63 - 1
        cursor.execute("UPDATE item SET g = LAST_INSERT_ID(g + 40) WHERE id = 1")
        assert cursor.lastrowid == 41
    assert client.error("INSERT INTO last VALUES ()")[0] == 1467
    client.run("INSERT INTO numbered (n) VALUES (1), (2)")
    assert client.run("SELECT id FROM numbered") == ((5,), (6,))


def test_temporary_tables_are_private(client: Any, ticdc_server: ServedDatabase, connect: Callable[..., Any]) -> None:
    client.run("CREATE TEMPORARY TABLE item (id INT)", "INSERT INTO item VALUES (77)")
    other = connect(ticdc_server.port, database=ticdc_server.name)
    assert [each.run("SELECT MAX(id) FROM item") for each in (client, other)] == [((77,),), ((3,),)]
    assert client.run("DROP TEMPORARY TABLE item", "SELECT MAX(id) FROM item") == ((3,),)


@pytest.mark.slow
def test_prepared_statements_take_parameters_anywhere(client: Any, ticdc_server: ServedDatabase) -> None:
    with mysql.connector.connect(
        host="127.0.0.1", port=ticdc_server.port, user="root", database=ticdc_server.name, use_pure=True
    ) as connection:
        cursor = connection.cursor(prepared=True)

        def rows(statement: str, *values: Any) -> list[Any]:
            cursor.execute(statement, values)
            return [*cursor.fetchall()]

        assert rows("SELECT one, twelve FROM flag WHERE one = %s", 1) == [(b"\x01", b"\x0a\xaa")]
        assert rows("SELECT id FROM item ORDER BY id LIMIT %s OFFSET %s", MORE, 2) == [(3,)]
        assert rows("SELECT COALESCE(GET_LOCK(%s, %s), 5)", "lock", 10) == [(1,)]
        for value in ("x", "y", 7, "z", None, 2.5):  # from the second text on, a template of the tree is filled
            assert rows("SELECT %s AS v, id + %s FROM item WHERE id = %s", value, 1, 2) == [(value, 3)]
        began = time.monotonic()
        assert rows("SELECT SLEEP(%s)", 0.2) == [(0,)]
        assert time.monotonic() - began > 0.2


def command(client: Any, number: int, data: bytes = b"") -> bytes:
    """Return the answer to a command."""
    client._execute_command(number, data)
    return bytes(client._read_packet()._data)


def test_commands_beside_queries(client: Any) -> None:
    several = "SELECT 1; SELECT 2"
    assert command(client, 27, b"\0\0")[:1] == b"\xfe"  # COM_SET_OPTION
    assert client.run(several) == ((1,),)
    assert command(client, 27, b"\1\0")[:1] == b"\xfe"
    assert client.error(several)[0] == 8130
    assert command(client, 9).startswith(b"Uptime: ")  # COM_STATISTICS
    for number, error in {27: 1835, 13: 1105}.items():
        with pytest.raises(pymysql.MySQLError) as failure:
            command(client, number, b"\7\0")
        assert failure.value.args[0] == error
    assert client.run("SELECT 5") == ((5,),)


@pytest.mark.slow
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_row_may_fill_a_packet(client: Any, more: int) -> None:
    """The last part of a packet is shorter than 2^24 - 1 bytes, and may be empty."""
    text = f"SELECT REPEAT('a', {2**24 - 1 - 4 + more})"
    assert len(client.run(text)[0][0]) == 2**24 - 1 - 4 + more
    answer = command(client, 22, f"SELECT REPEAT('a', {2**24 - 1 - 6 + more})".encode())  # COM_STMT_PREPARE
    for _ in range(2):
        client._read_packet()
    command(client, 23, struct.pack("<IBI", struct.unpack_from("<I", answer, 1)[0], 0, 1))  # COM_STMT_EXECUTE
    for _ in range(2):
        client._read_packet()
    assert len(client._read_packet()._data) == 2**24 - 1 + more
    client._read_packet()
    assert client.run("SELECT 5") == ((5,),)
