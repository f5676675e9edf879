"""What consumers wrote to SQLite, PostgreSQL and MySQL is compared with the truth by the URL of the database."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import chown, which
from socket import socket
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pymysql
import pytest
from support.playing import play

from simulator import TiCDC
from simulator.api.server import TiCDCServer

TYPED = """CREATE TABLE typed (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(20), d DOUBLE, f FLOAT, n DECIMAL(10,2),
big DECIMAL(30,10), moment DATETIME(3), ts TIMESTAMP NULL, t TIME, day DATE, y YEAR, b VARBINARY(9), bits BIT(10),
flag TINYINT(1), doc JSON, e ENUM('a','b'), s SET('x','y'));"""
ROWS = [
    """1,Zoë,0.1,0.1234567,12.50,12345678901234567890.0123456789,2024-02-03 10:11:12.500,2024-01-01 00:00:00,01:02:03,
2024-02-03,2024,"\t\n",5,1,"{""a"": 1}",a,"x,y\"""".replace("03,\n", "03,"),
    "2" + ",\\N" * 16,
    "18446744073709551615,x,1e300,3.4e38,-0.01,0.0000000001,2024-02-03 10:11:12.000,2038-01-01 00:00:00,-838:59:59,"
    '2024-02-03,1901,abc,1023,0,"[1, 2.5]",b,x',
]

Verified = Callable[..., dict[str, Any]]
Database = Callable[[str], str]


@pytest.fixture
def verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verified:
    """The verdict on a database, held against tables with these rows."""

    def verify(url: str, rows: dict[str, tuple[str, Sequence[str]]], *options: object) -> dict[str, Any]:
        truth = tmp_path / "truth"
        truth.mkdir(exist_ok=True)
        for name, (schema, lines) in rows.items():
            (truth / f"{name}-schema.sql").write_text(schema)
            (truth / f"{name}.csv").write_text("".join(f"{line}\n" for line in lines))
        capsys.readouterr()
        code = play("verify", "--after", truth, "--against", url, "--json", *options)
        shown = capsys.readouterr()
        return {"error": shown.err, **(json.loads(shown.out) if code in (0, 1, 4) else {})}

    return verify


def what(found: dict[str, Any]) -> list[str]:
    return [example["what"] for failure in found["failures"] for example in failure["examples"]]


def unchecked(found: dict[str, Any]) -> dict[str, str]:
    return {each["what"]: each["why"] for each in found["not_checked"]}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """The URL of a file of SQLite that these statements make."""

    def made(script: str) -> str:
        connection = sqlite3.connect(tmp_path / "mine.db")
        connection.executescript(script)
        connection.close()
        return f"sqlite:///{tmp_path / 'mine.db'}"

    return made


def test_values_of_sqlite_are_compared_where_they_are_exact(verified: Verified, database: Database) -> None:
    """Its types are those of single values; names differ in case, and the schema is that of the file."""
    url = database("""
        CREATE TABLE TYPED (ID TEXT PRIMARY KEY, name text, d double, f float, n decimal(10,2), big decimal(30,10),
            moment datetime, ts timestamp, t time, day date, y int, b blob, bits int, flag bool, doc json, e text,
            s text, extra int);
        INSERT INTO typed VALUES (1, 'Zoë', 0.1, 0.1234567, 12.5, '12345678901234567890.0123456789',
            '2024-02-03T10:11:12.5', '2024-01-01 00:00:00+00:00', '01:02:03', '2024-02-03', 2024, X'090A', 5, 1,
            '{"a":1}', 'a', 'x,y', 1);
        INSERT INTO typed (id) VALUES (2);
        INSERT INTO typed VALUES ('18446744073709551615', 'x', 1e300, 3.4e38, -0.01, 1e-10, 1706955072, '2038-01-01',
            '-838:59:59', '2024-02-03', 1901, 'abc', 1023, 0, '[1,2.5]', 'b', 'x', 1);
    """)
    rows = {"shop.typed": (TYPED, ROWS)}
    found = verified(url, rows)
    assert (what(found), found["compared"][0]["found"], found["engine"]) == ([], 3, "in process")
    assert unchecked(found) == {
        "column 'big' of shop.typed": "values that are REAL there (2) do not tell which DECIMAL(30,10) they are",
        "column 'moment' of shop.typed": "values that are INTEGER there (1) do not tell which DATETIME they are",
    }
    assert found["notes"] == ["shop.typed: column 'extra' is not compared, as the truth does not have it"]

    database("UPDATE typed SET n = 12.499, moment = '2024-02-03 10:11:12.5004', flag = 2, b = X'ff' WHERE id = '1'")
    assert what(verified(url, rows)) == [
        "shop.typed, row 1: n is '12.499', '12.50' expected; moment is '2024-02-03 10:11:12.5004', "
        "'2024-02-03 10:11:12.500' expected; b is 'ÿ', '\t\n' expected; flag is '2', '1' expected"
    ]


KEYED = "CREATE TABLE {} (id BIGINT UNSIGNED PRIMARY KEY, v INT);"


GOOD = {
    "shop.t": ("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));", ["1,a", "2,b"]),
    "shop.day": ("CREATE TABLE day (d DATE PRIMARY KEY);", ["2024-01-02"]),
}
MADE = """CREATE TABLE t (id INTEGER, v TEXT); INSERT INTO t VALUES (1,'a'),(2,'b');
CREATE TABLE day (d TEXT); INSERT INTO day VALUES ('2024-01-02');"""


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE t SET v = CAST(x'ff61' AS TEXT) WHERE id = 2", "shop.t, row 2: v is '0xff61', 'b' expected"),
        ("INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 'x')", "shop.t, row 0xff: is there and should not be"),
        ("INSERT INTO t VALUES (NULL, 'x')", "shop.t, row NULL: is there and should not be"),
        ("INSERT INTO t VALUES ('abc', 'x')", "shop.t, row abc: is there and should not be"),
        ("INSERT INTO t VALUES (1.5, 'x')", "shop.t, row 1.5: is there and should not be"),
        ("INSERT INTO t VALUES (x'00ff', 'x')", "shop.t, row 0x00ff: is there and should not be"),
        ("INSERT INTO day VALUES ('never')", "shop.day, row never: is there and should not be"),
        ("INSERT INTO day VALUES (''), ('')", "shop.day, row : is there more than once"),
    ],
)
def test_values_that_no_row_has_are_wrong(verified: Verified, database: Database, statement: str, says: str) -> None:
    """They are named with their row, and all other tables are compared."""
    found = verified(database(f"{MADE} {statement};"), GOOD)
    assert (found["verdict"], says in what(found), len(found["compared"])) == ("wrong", True, 2)


def test_a_table_that_cannot_be_read_leaves_the_others(verified: Verified, database: Database) -> None:
    found = verified(database(f"{MADE} DROP TABLE day; CREATE VIEW day AS SELECT * FROM nowhere;"), GOOD)
    assert (found["verdict"], [each["table"] for each in found["compared"]]) == ("unproved", ["shop.t"])
    assert "no such table: main.nowhere" in unchecked(found)["rows of shop.day"]
    found = verified(database("DROP VIEW day; CREATE VIEW day AS SELECT abs(-9223372036854775808) AS d"), GOOD)
    assert found["verdict"] == "unproved" and "integer overflow" in unchecked(found)["rows of shop.day"]


def test_tables_and_columns_that_are_not_there_are_named(verified: Verified, database: Database) -> None:
    """A missing table has no rows; rows that nothing identifies are not compared."""
    url = database("""
        CREATE TABLE nokey (v INT); INSERT INTO nokey VALUES (1);
        CREATE TABLE big (id NUMERIC PRIMARY KEY, v INT); INSERT INTO big VALUES ('18446744073709551615', 1);
        CREATE TABLE bag (a INT); INSERT INTO bag VALUES (1);
        CREATE TABLE twice (id INT, v INT);
        CREATE TABLE half (id INT PRIMARY KEY); INSERT INTO half VALUES (1);
        CREATE TABLE items (id INT);
        CREATE VIEW seen AS SELECT 1 AS id, 2 AS v;
    """)
    names = ("a.nokey", "a.big", "a.item", "a.half", "a.twice", "b.twice", "a.seen")
    tables: dict[str, tuple[str, Sequence[str]]] = {
        name: (KEYED.format(name.partition(".")[2]), ["1,2"]) for name in names
    }
    found = verified(url, {**tables, "a.bag": ("CREATE TABLE bag (a INT, b INT);", ["1,2"])})
    assert what(found) == ["a.item, row 1: is missing"]
    assert [table["table"] for table in found["compared"]] == ["a.half", "a.item", "a.seen"]
    other = "the other side does not have it"
    shared = "several expected tables have that name, and none of them is known to be the one in 'main'"
    assert unchecked(found) == {
        "rows of a.nokey": f"its rows are identified by the key, and of column 'id': {other}",
        "rows of a.big": "its rows are identified by the key, and of column 'id': values that are REAL there (1) do not "
        "tell which BIGINT UNSIGNED they are",
        "rows of a.bag": f"its rows are identified by all columns, as it has no key, and of column 'b': {other}",
        "rows of a.twice": shared,
        "rows of b.twice": shared,
        "column 'v' of a.half": other,
    }
    assert found["notes"] == ["a.item: the database has no such table, looked for in 'main'. Did you mean 'items'?"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///none.db", "sqlite:///none.db: no such file: none.db"),
        ("sqlite:none.db", "sqlite:none.db is no URL of a database: accepted are such as sqlite:///file.db, "),
        ("sqlite://", "sqlite:// names no file: accepted are sqlite:///file.db and sqlite:////absolute/file.db"),
        ("mysql://u:secret@127.0.0.1:1/x", "mysql://***@127.0.0.1:1/x cannot be read: Can't connect to MySQL server"),
        ("postgresql://u:secret@127.0.0.1:1/x", 'server at "127.0.0.1", port 1 failed: Connection refused'),
        ("postgresql://u:secret@127.0.0.1/x?a=1", 'cannot be read: invalid connection option "a"'),
        ("mysql+mysqldb://u:secret@h/x", "driver 'mysqldb' is not used: mysql:// is read through mysql+pymysql"),
        ("mssql://u:secret@h/x", "unknown scheme 'mssql': accepted are a snapshot (a directory, or a URI such as"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused(
    url: str, says: str, verified: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, without the password; SQLite's file is not created."""
    monkeypatch.chdir(tmp_path)
    error = verified(url, {"a.t": (KEYED.format("t"), [])})["error"]
    assert says in error
    assert "secret" not in error
    assert [line for line in error.splitlines() if not line.startswith("comparing")][1:] == []
    assert not (tmp_path / "none.db").exists()


def test_a_missing_extra_is_named(verified: Verified, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be imported stands for one that is not installed."""
    url = database("CREATE TABLE t (id INT)")
    for module, location in (("psycopg", "postgresql://h/x"), ("pymysql", "mysql://h/x"), ("sqlalchemy", url)):
        monkeypatch.setitem(sys.modules, module, None)
        error = verified(location, {"a.t": (KEYED.format("t"), [])})["error"]
        assert f"needs {module}, which is not installed: pip install 'ticdc-simulator[databases]'" in error


USER, PASSWORD = "reader", "pass@word/1"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Host and port of a PostgreSQL (Debian's package) of its own process, as no library has its types."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *(Path(name).parent for name in [which("initdb")] if name)]
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PostgreSQL (Debian's package postgresql)")
    user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    with TemporaryDirectory(prefix="postgresql-") as directory, socket() as free:
        data, secret = Path(directory, "data"), Path(directory, "secret")
        secret.write_text(PASSWORD)
        for path in (Path(directory), secret):
            chown(path, user or os.getuid())
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()

        def execute(program: str, arguments: str, *more: str) -> None:
            command = [str(max(found) / program), "-D", str(data), *arguments.split(), *more]
            subprocess.run(command, user=user, cwd=directory, check=True, stdout=subprocess.DEVNULL)

        execute("initdb", f"-U {USER} --pwfile={secret} -A scram-sha-256 -N -E UTF8")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        execute("pg_ctl", f"start -w -s -l {directory}/log -o", options)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            execute("pg_ctl", "stop -w -s -m immediate")


@pytest.mark.slow
def test_values_of_postgresql_are_exact(server: str, verified: Verified) -> None:
    """Its types have one way to TiDB's text each, and some cannot tell TiDB's values apart."""
    import psycopg

    url = f"postgresql://{USER}:{quote(PASSWORD, safe='')}@{server}/postgres"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""
            CREATE SCHEMA "Shop";
            CREATE TABLE "Shop".typed (id NUMERIC(20) PRIMARY KEY, name TEXT, d DOUBLE PRECISION, f REAL, n NUMERIC(10,2),
                big DOUBLE PRECISION, moment TIMESTAMPTZ, ts TIMESTAMPTZ, t INTERVAL, day DATE, y INT, b BYTEA,
                bits BIT(10), flag BOOLEAN, doc JSONB, e TEXT, s TEXT);
            INSERT INTO "Shop".typed VALUES (1, 'Zoë', 0.1, 0.1234567, 12.5, 1, now(), '2024-01-01 08:00:00+08',
                '01:02:03', '2024-02-03', 2024, '\\x090a', B'0000000101', TRUE, '{"a": 1}', 'a', 'x,y');
            INSERT INTO "Shop".typed (id) VALUES (2);
            INSERT INTO "Shop".typed VALUES (18446744073709551615, 'x', 1e300, 3.4e38, -0.01, 1, now(),
                '2038-01-01 00:00:00+00', '-838:59:59', '2024-02-03', 1901, 'abc', B'1111111111', FALSE, '[1, 2.5]',
                'b', 'x');
            CREATE TABLE "T%:s" ("V" INT, "ID" INT);
            INSERT INTO "T%:s" SELECT n, n FROM generate_series(1, 20000) n;
        """)
    many = (KEYED.format("`t%:s`"), [f"{number},{number}" for number in range(1, 20001)])
    found = verified(url, {"shop.typed": (TYPED, ROWS), "shop.t%25:s": many})
    assert (found["against"], what(found)) == (f"postgresql://***@{server}/postgres", [])
    assert {table["table"]: table["found"] for table in found["compared"]} == {"shop.t%:s": 20000, "shop.typed": 3}
    assert unchecked(found) == {
        "column 'big' of shop.typed": "it is DOUBLE PRECISION there, which does not hold DECIMAL(30,10) exactly",
        "column 'moment' of shop.typed": "it is TIMESTAMP WITH TIME ZONE there, and DATETIME has no time zone",
    }
    wrong = verified(url.replace(quote(PASSWORD, safe=""), "wrong"), {})["error"]
    assert 'failed: FATAL:  password authentication failed for user "reader"' in wrong


@pytest.mark.slow
def test_values_of_mysql_are_exact(verified: Verified) -> None:
    """Through the wire protocol, of a TiDB; with a database in the URL no other one is looked at."""
    rows = {"shop.typed": (TYPED, ROWS)}
    with (
        TiCDC(sink_uri="kafka://127.0.0.1:9092/t?protocol=canal-json", databases=("copy", "shop")) as ticdc,
        TiCDCServer(ticdc) as server,
    ):
        with pymysql.connect(host=server.host, port=server.port, user="root") as client, client.cursor() as cursor:
            for schema in ("shop", "copy"):
                cursor.execute(TYPED.replace("typed", f"{schema}.TYPED", 1))
                cursor.execute(f"""INSERT INTO {schema}.typed VALUES (1, 'Zoë', 0.1, 0.1234567, 12.5,
                    12345678901234567890.0123456789, '2024-02-03 10:11:12.5', '2024-01-01 00:00:00', '01:02:03',
                    '2024-02-03', 2024, X'090A', 5, 1, '{{"a": 1}}', 'a', 'x,y')""")
            cursor.execute(
                """INSERT INTO copy.typed VALUES (2{}), (18446744073709551615, 'x', 1e300, 3.4e38, -0.01,
                    1e-10, '2024-02-03 10:11:12', '2038-01-01 00:00:00', '-838:59:59', '2024-02-03', 1901, 'abc', 1023,
                    0, '[1, 2.5]', 'b', 'x')""".format(", NULL" * 16)
            )
            client.commit()
        url = f"mysql://root@{server.host}:{server.port}"
        assert (what(found := verified(f"{url}/copy", rows)), found["not_checked"]) == ([], [])
        missing = ["shop.typed, row 2: is missing", "shop.typed, row 18446744073709551615: is missing"]
        assert what(verified(url, rows)) == missing
        found = verified(f"{url}/mysql", rows)
        assert what(found) == ["shop.typed, row 1: is missing", *missing]
        assert found["notes"] == ["shop.typed: the database has no such table, looked for in 'mysql'."]
