"""A server keeps its rows between two runs, whatever ended the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.errors import UserError
from simulator.reader.decode import DdlEvent, RowEvent
from simulator.serve.data_directory import DataDirectory

START_TS = 455000614502400000


Served = Callable[..., AbstractContextManager[tuple[TiCDCServer, Any]]]


@pytest.fixture
def served(tmp_path: Path, connect: Callable[..., Any]) -> Served:
    """Serves the rows of a directory to a client."""

    @contextmanager
    def server_and_client(resume: bool = False, release: str = "v8.5.3") -> Iterator[tuple[TiCDCServer, Any]]:
        with (
            closing(DataDirectory(tmp_path / "data", release, START_TS, resume)) as data,
            TiCDC(release, databases=(), start_ts=data.start_ts) as ticdc,
            TiCDCServer(ticdc, data=data) as server,
        ):
            client = connect(server.port)
            yield server, client
            client.close()

    return server_and_client


@pytest.mark.slow
def test_rows_definitions_and_ids_are_there_again(served: Served) -> None:
    with served() as (_, client):
        client.run("CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(9))")
        client.run("INSERT INTO shop.item (s) VALUES ('pen'), ('ink'), (NULL)", "DELETE FROM shop.item WHERE id = 2")
        client.run(
            "ALTER TABLE shop.item ADD COLUMN n INT DEFAULT 7", "BEGIN", "INSERT INTO shop.item (s) VALUES ('x')"
        )
    for _ in range(2):  # from the log, then from a snapshot
        with served() as (server, client):
            assert client.run("SELECT * FROM shop.item ORDER BY id") == ((1, "pen", 7), (3, None, 7))
            assert not [event for event in server.events() if isinstance(event, RowEvent | DdlEvent)]
    with served() as (_, client):
        client.run("INSERT INTO shop.item (s) VALUES ('cup')")
        assert client.run("SELECT MAX(id) FROM shop.item")[0][0] > 30_000  # its cache is lost


@pytest.mark.slow
def test_a_row_that_is_older_than_a_column_stays_so(served: Served) -> None:
    with served(release="v6.5.8") as (_, client):
        client.run("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2), (3)")
        client.run("ALTER TABLE d.t ADD b BIT(9) NOT NULL DEFAULT 300", "UPDATE d.t SET b = 7 WHERE id = 3")
    for row in (1, 2):  # from the log, then from a snapshot
        with served(release="v6.5.8") as (server, client):
            client.run(f"DELETE FROM d.t WHERE id = {row}")
            assert [event.before for event in server.events() if isinstance(event, RowEvent)] == [
                {"id": f"{row}", "b": "\x01,"}
            ]
    with served(release="v6.5.8") as (server, client):
        client.run("DELETE FROM d.t")
        assert [event.before for event in server.events() if isinstance(event, RowEvent)] == [{"id": "3", "b": "7"}]


@pytest.mark.slow
def test_a_table_keeps_the_meaning_of_its_statement_under_its_sql_mode(served: Served) -> None:
    with served() as (server, client):
        client.run("CREATE DATABASE d", "USE d", "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'")
        client.run("""CREATE TABLE "t" ("id" INT PRIMARY KEY, g VARCHAR(9) AS ('x\\' || "id"))""")
        statements = [event.query for event in server.events() if isinstance(event, DdlEvent)]
        assert statements[-1].endswith(r"AS(CONCAT(_UTF8MB4'x\\', `id`)) VIRTUAL)")
    for number in range(2):  # from the log, then from a snapshot
        with served() as (_, client):
            client.run(f"INSERT INTO d.t (id) VALUES ({number})")
            assert client.run(f"SELECT g FROM d.t WHERE id = {number}") == ((f"x\\{number}",),)


def test_global_variables_are_there_again(served: Served) -> None:
    with served() as (_, client):
        client.run("SET GLOBAL time_zone = '+02:00'", "SET GLOBAL tidb_enable_check_constraint = ON")
    for _ in range(2):
        with served() as (_, client):
            assert client.run("SELECT @@time_zone, @@tidb_enable_check_constraint") == (("+02:00", 1),)


@pytest.mark.slow
def test_a_resumed_changefeed_sends_what_is_above_the_checkpoint(served: Served) -> None:
    """It is at the last statement, whose watermark every partition has."""
    with served() as (server, client):
        client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)", "CALL ticdc.watermark()")
        server.messages()
        client.run("INSERT INTO item VALUES (2)", "ALTER TABLE item ADD COLUMN n INT")
        server.messages(watermark=False)
        client.run("INSERT INTO item VALUES (3, 4)", "UPDATE item SET n = 5 WHERE id = 3")
        sent = [event for event in server.events(watermark=False) if isinstance(event, RowEvent | DdlEvent)]
        assert len(sent) == 2
    with served(resume=True) as (server, client):
        again = [event for event in server.events() if isinstance(event, RowEvent | DdlEvent)]
        assert [str(event) for event in again] == [str(event) for event in sent]
        client.run("INSERT INTO item VALUES (5, 6)")
        (row,) = (event for event in server.events() if isinstance(event, RowEvent))
        assert row.commit_ts is not None and again[-1].commit_ts is not None and row.commit_ts > again[-1].commit_ts


def test_a_record_that_was_cut_is_left_out(served: Served, tmp_path: Path) -> None:
    with served() as (_, client):
        client.run("CREATE TABLE item (id INT PRIMARY KEY)")
        client.run("INSERT INTO item VALUES (1)", "INSERT INTO item VALUES (2)")
    (log,) = (tmp_path / "data").glob("log-*")
    log.write_bytes(log.read_bytes()[:-3])
    with served() as (_, client):
        assert client.run("SELECT * FROM item") == ((1,),)


def test_a_directory_of_another_server_or_release_is_refused(served: Served, tmp_path: Path) -> None:
    with served(), pytest.raises(UserError, match="another server uses it"):
        DataDirectory(tmp_path / "data", "v8.5.3", START_TS)
    with pytest.raises(UserError, match="it was written with --release v8.5.3"):
        DataDirectory(tmp_path / "data", "v7.5.0", START_TS)
