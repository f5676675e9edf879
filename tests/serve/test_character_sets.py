"""Clients send statements in a character set of their own, and read results in one (tidb pkg/parser/lexer.go,
pkg/server/internal/column/result_encoder.go)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mysql.connector
import pymysql
import pytest
from pymysql.constants import COMMAND

from simulator import TiCDC
from simulator.api.server import TiCDCServer

SINK_URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[TiCDCServer]:
    with TiCDC(sink_uri=SINK_URI, databases=("test",), fixtures=tmp_path / "messages") as ticdc:
        with TiCDCServer(ticdc) as server:
            yield server


Ask = Callable[[bytes], Any]


@pytest.fixture
def ask(served: TiCDCServer, connect: Callable[..., Any]) -> Ask:
    """Sends the bytes of a statement; returns the rows as bytes, or else the warnings that are shown after it."""
    client = connect(served.port, charset="utf8mb4", use_unicode=False)

    def asked(statement: bytes) -> Any:
        client.query(statement)
        result = client._result
        return result.rows if result.field_count else [row[2] for row in _warnings(client)]

    return asked


def _warnings(client: Any) -> Any:
    client.query(b"SHOW WARNINGS")
    return client._result.rows


def test_a_client_of_gbk(served: TiCDCServer, connect: Callable[..., Any]) -> None:
    """Identifiers, literals with a backslash as their second byte, column names and values."""
    client = connect(served.port, charset="gbk")
    with client.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE 订单 (id INT PRIMARY KEY, 名 VARCHAR(20), g VARCHAR(20) CHARACTER SET gbk, j JSON)"
        )
        assert "誠".encode("gbk")[1:] == b"\\"
        cursor.execute("INSERT INTO 订单 VALUES (1, '誠''国', '中', '{\"名\": \"国\"}')")
        cursor.execute("INSERT INTO `订单` (id, 名) VALUES (%s, %s)", (2, "誠\\'"))
        cursor.execute("SELECT 名, g, j FROM 订单 ORDER BY id")
        assert [column[0] for column in cursor.description] == ["名", "g", "j"]
        assert cursor.fetchall() == (("誠'国", "中", '{"名": "国"}'), ("誠\\'", None, None))
    other = connect(served.port)
    with other.cursor() as cursor:
        cursor.execute("SELECT 名 FROM 订单 ORDER BY id")
        assert cursor.fetchall() == (("誠'国",), ("誠\\'",))


def test_what_a_character_set_lacks_is_a_question_mark(ask: Ask) -> None:
    assert ask(b"SET NAMES gbk") == []
    assert ask("SELECT '中ǹ' AS a, X'E282AC', CONVERT(X'E282AC' USING utf8mb4), 1".encode("gb18030")) == (
        ("中ǹ".encode("gb18030"), "€".encode(), b"?", 1),
    )
    assert ask(b"SET character_set_results = ascii") == []
    assert ask("SELECT '中国' AS a".encode("gbk")) == ((b"??",),)
    assert ask(b"SET NAMES utf8mb4") == []
    assert ask(b"SET character_set_results = ascii") == []
    assert ask("SELECT 'aä中'".encode()) == ((b"a??",),)


def test_wrong_bytes_of_literals_are_errors_in_strict_mode(ask: Ask) -> None:
    ask(b"SET NAMES gbk")
    with pytest.raises(pymysql.err.MySQLError) as failure:
        ask(b"SELECT 'a\x81'")
    assert failure.value.args == (1300, "Invalid gbk character string: '81'")
    assert ask(b"SELECT /* \x80 */ 1") == ((1,),)
    ask(b"SET sql_mode = ''")
    replaced = (
        "You have an error in your SQL syntax; check the manual that corresponds to your TiDB version for the right syntax"
        " to use [parser:1300]Invalid gbk character string: '81'"
    )
    assert ask(b"SELECT 'a\x81', '\xff\xff'") == ((b"a?", b"?"),)
    assert ask(b"SET @a = 'a\x81'") == [replaced.encode()]
    ask(b"SET NAMES ascii")
    assert ask("SELECT 'ä中'".encode()) == ((b"??",),)


def test_latin1_is_utf8(ask: Ask) -> None:
    """pkg/parser/charset/encoding_latin1.go: its bytes stay as they are."""
    ask(b"SET NAMES latin1")
    assert ask("SELECT 'ä', LENGTH('ä')".encode()) == (("ä".encode(), 2),)
    ask(b"SET NAMES utf8mb4")
    ask(b"SET character_set_client = latin1")
    assert ask(b"SELECT '\xe4\xe4', 'a'") == ((b"??", b"a"),)


def test_results_that_are_not_converted_have_the_bytes_of_their_columns(ask: Ask) -> None:
    ask(b"CREATE TABLE t (g VARCHAR(9) CHARACTER SET gbk, u VARCHAR(9), b VARBINARY(9))")
    ask("INSERT INTO t VALUES ('中', '中', '中')".encode())
    expected = (("中".encode("gbk"), "中".encode(), "中".encode()),)
    for results in (b"NULL", b"binary"):
        ask(b"SET character_set_results = " + results)
        assert ask(b"SELECT * FROM t") == expected
    ask(b"SET character_set_results = gbk")
    assert ask(b"SELECT * FROM t") == (("中".encode("gbk"), "中".encode("gbk"), "中".encode()),)


IDS = {"utf8mb4": [46, 46, 46, 63], "gbk": [28, 28, 28, 63], "latin1": [47, 47, 47, 63], "NULL": [28, 46, 47, 63]}


@pytest.mark.parametrize("results", IDS)
def test_columns_are_said_to_be_of_the_character_set_of_results(
    served: TiCDCServer, connect: Callable[..., Any], results: str
) -> None:
    client = connect(served.port)
    with client.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE t (g CHAR(9) CHARACTER SET gbk, u TEXT, l CHAR(9) CHARACTER SET latin1, b BLOB, n INT)"
        )
        cursor.execute(f"SET character_set_results = {results}")
        cursor.execute("SELECT * FROM t")
        assert [field.charsetnr for field in cursor._result.fields] == [*IDS[results], 63]


@pytest.mark.slow
def test_prepared_statements_of_gbk(served: TiCDCServer) -> None:
    options: dict[str, Any] = {"user": "root", "database": "test", "ssl_disabled": True, "use_pure": True}
    client = mysql.connector.connect(
        host="127.0.0.1", port=served.port, charset="gbk", collation="gbk_chinese_ci", **options
    )
    try:
        cursor: Any = client.cursor(prepared=True)
        cursor.execute("SELECT %s, '国' AS 名", ("誠",))
        assert (cursor.description[1][0], cursor.fetchall()) == ("名", [("誠", "国")])
    finally:
        client.close()


def test_databases_of_gbk(served: TiCDCServer, connect: Callable[..., Any]) -> None:
    """In the handshake, by COM_INIT_DB and COM_CHANGE_USER."""
    with connect(served.port).cursor() as cursor:
        cursor.execute("CREATE DATABASE 店")
    client = connect(served.port, charset="gbk", database="店".encode("gbk"))
    with client.cursor() as cursor:
        cursor.execute("SELECT DATABASE()")
        assert cursor.fetchall() == (("店",),)
        cursor.execute("USE test")
        client._execute_command(COMMAND.COM_INIT_DB, "店".encode("gbk"))
        client._read_ok_packet()
        cursor.execute("SELECT DATABASE()")
        assert cursor.fetchall() == (("店",),)
        for collation in (28, 254, 309):  # it is left out, also one that nobody knows
            packet = (
                b"root\0\0" + "店".encode("gbk") + b"\0" + struct.pack("<H", collation) + b"mysql_native_password\0"
            )
            client._execute_command(COMMAND.COM_CHANGE_USER, packet)
            client._read_ok_packet()
            cursor.execute("SELECT DATABASE(), @@character_set_client")
            assert cursor.fetchall() == (("店", "gbk"),)
        for broken in (b"root\0", b"root\0\x05abc"):
            client._execute_command(COMMAND.COM_CHANGE_USER, broken)
            with pytest.raises(pymysql.err.MySQLError, match="1835.*Malformed communication packet"):
                client._read_ok_packet()


@pytest.mark.slow
def test_the_command_line_of_mariadb_in_gbk(served: TiCDCServer) -> None:
    program = shutil.which("mariadb")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no mariadb on PATH (Debian's package mariadb-client)")
    at = [program, "--no-defaults", "--skip-ssl", "-h127.0.0.1", f"-P{served.port}", "-uroot", "test"]
    statements = "CREATE TABLE 表 (名 VARCHAR(9)); INSERT INTO 表 VALUES ('誠国'); SELECT * FROM 表"
    run = subprocess.run(
        [*at, "--default-character-set=gbk"], input=statements.encode("gbk"), capture_output=True, timeout=60
    )
    assert (run.stdout.decode("gbk"), run.returncode) == ("名\n誠国\n", 0), run.stderr
