"""A server keeps its rows between two runs, whatever ended the first one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.consumer.decode import DdlEvent, RowEvent
from simulator.errors import UserError
from simulator.serve.data_directory import DataDirectory

START_TS = 455000614502400000


@contextmanager
def served(path: Path, resume: bool = False) -> Iterator[tuple[TiCDCServer, Any]]:
    with (
        closing(DataDirectory(path, "v8.5.3", START_TS)) as data,
        TiCDC("v8.5.3", databases=(), start_ts=data.start_ts) as ticdc,
        TiCDCServer(ticdc, data=data, resume=resume) as server,
        closing(
            pymysql.connect(host=server.host, port=server.port, user="root", database="test", autocommit=True)
        ) as client,
    ):
        yield server, client


def run(client: Any, *statements: str) -> list[tuple[Any, ...]]:
    with client.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return list(cursor.fetchall())


def texts(rows: list[tuple[Any, ...]]) -> list[tuple[str | None, ...]]:
    return [tuple(None if cell is None else str(cell) for cell in row) for row in rows]


def test_rows_definitions_and_ids_are_there_again(tmp_path: Path) -> None:
    with served(tmp_path / "data") as (_, client):
        run(client, "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(9))")
        run(client, "INSERT INTO shop.item (s) VALUES ('pen'), ('ink'), (NULL)", "DELETE FROM shop.item WHERE id = 2")
        run(
            client,
            "ALTER TABLE shop.item ADD COLUMN n INT DEFAULT 7",
            "BEGIN",
            "INSERT INTO shop.item (s) VALUES ('x')",
        )
    for _ in range(2):  # from the log, then from a snapshot
        with served(tmp_path / "data") as (server, client):
            assert texts(run(client, "SELECT * FROM shop.item ORDER BY id")) == [("1", "pen", "7"), ("3", None, "7")]
            assert not [event for event in server.events() if isinstance(event, RowEvent | DdlEvent)]
    with served(tmp_path / "data") as (_, client):
        run(client, "INSERT INTO shop.item (s) VALUES ('cup')")
        assert int(texts(run(client, "SELECT MAX(id) FROM shop.item"))[0][0] or 0) > 30_000  # its cache is lost


def test_global_variables_are_there_again(tmp_path: Path) -> None:
    with served(tmp_path / "data") as (_, client):
        run(client, "SET GLOBAL time_zone = '+02:00'", "SET GLOBAL tidb_enable_check_constraint = ON")
    for _ in range(2):
        with served(tmp_path / "data") as (_, client):
            assert run(client, "SELECT @@time_zone, @@tidb_enable_check_constraint") == [("+02:00", 1)]


def test_a_resumed_changefeed_sends_what_is_above_the_checkpoint(tmp_path: Path) -> None:
    with served(tmp_path / "data") as (server, client):
        run(client, "CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)", "CALL ticdc.watermark()")
        server.messages()
        run(
            client, "INSERT INTO item VALUES (2)", "ALTER TABLE item ADD COLUMN n INT", "INSERT INTO item VALUES (3, 4)"
        )
        sent = [event for event in server.events(watermark=False) if isinstance(event, RowEvent | DdlEvent)]
    with served(tmp_path / "data", resume=True) as (server, client):
        again = [event for event in server.events() if isinstance(event, RowEvent | DdlEvent)]
        assert [str(event) for event in again] == [str(event) for event in sent]
        run(client, "INSERT INTO item VALUES (5, 6)")
        (row,) = (event for event in server.events() if isinstance(event, RowEvent))
        assert row.commit_ts is not None and again[-1].commit_ts is not None and row.commit_ts > again[-1].commit_ts


def test_a_record_that_was_cut_is_left_out(tmp_path: Path) -> None:
    with served(tmp_path / "data") as (_, client):
        run(
            client,
            "CREATE TABLE item (id INT PRIMARY KEY)",
            "INSERT INTO item VALUES (1)",
            "INSERT INTO item VALUES (2)",
        )
    (log,) = (tmp_path / "data").glob("log-*")
    log.write_bytes(log.read_bytes()[:-3])
    with served(tmp_path / "data") as (_, client):
        assert texts(run(client, "SELECT * FROM item")) == [("1",)]


def test_two_servers_do_not_share_a_directory(tmp_path: Path) -> None:
    with served(tmp_path / "data"), pytest.raises(UserError, match="another server uses it"):
        DataDirectory(tmp_path / "data", "v8.5.3", START_TS)


def test_another_release_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "data"):
        pass
    with pytest.raises(UserError, match="it was written with --release v8.5.3"):
        DataDirectory(tmp_path / "data", "v7.5.0", START_TS)
