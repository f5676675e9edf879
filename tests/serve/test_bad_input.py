"""What clients do wrong, and what goes wrong around them."""

from __future__ import annotations

import gc
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pymysql
import pytest

from simulator import TiCDC, tso
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.consumer.decode import RowEvent
from simulator.errors import DeliveryError, EncodeError, UserError


def connect(server: Any, **options: Any) -> Any:
    return pymysql.connect(
        **{
            "host": server.host,
            "port": server.port,
            "user": "root",
            "autocommit": True,
            "ssl_disabled": True,
            **options,
        }
    )


def run(client: Any, *statements: str) -> tuple[tuple[Any, ...], ...]:
    with client.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return tuple(cursor.fetchall())


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(params=["mysql_native_password", "caching_sha2_password"])
def guarded(request: pytest.FixtureRequest) -> Iterator[TiCDCServer]:
    with TiCDC(databases=()) as ticdc:
        passwords = {"root": "", "ann": "pen & ink"}
        with TiCDCServer(ticdc, passwords=passwords, authentication=request.param) as server:
            yield server


def test_passwords_are_checked(guarded: TiCDCServer) -> None:
    assert run(connect(guarded, user="ann", password="pen & ink"), "SELECT USER()") == (("ann@127.0.0.1",),)
    for user, password, used in (("ann", "ink", "YES"), ("ann", "", "NO"), ("bob", "x", "YES"), ("root", "x", "YES")):
        with pytest.raises(pymysql.err.OperationalError) as failure:
            connect(guarded, user=user, password=password)
        text = f"Access denied for user '{user}'@'127.0.0.1' (using password: {used})"
        assert failure.value.args == (1045, text)


def test_an_unknown_database_is_refused(ticdc_server: ServedDatabase) -> None:
    with pytest.raises(pymysql.err.OperationalError) as failure:
        connect(ticdc_server, database="nowhere")
    assert failure.value.args == (1049, "Unknown database 'nowhere'")


def test_what_is_not_simulated_is_refused_by_name(ticdc_server: ServedDatabase) -> None:
    client = connect(ticdc_server, database=ticdc_server.name)
    for sql, number in (("LOAD DATA INFILE 'x' INTO TABLE t", 1235), ("SELEC 1", 1064), ("", 1065)):
        with pytest.raises(pymysql.MySQLError) as failure:
            run(client, sql)
        assert failure.value.args[0] == number, sql
    assert run(client, "SELECT 1") == ((1,),)


def test_several_statements_need_the_client_s_consent(ticdc_server: ServedDatabase) -> None:
    with pytest.raises(pymysql.MySQLError) as failure:
        run(connect(ticdc_server), "SELECT 1; SELECT 2")
    assert failure.value.args[0] == 8130


def test_a_packet_above_max_allowed_packet_ends_the_connection(ticdc_server: ServedDatabase) -> None:
    client = connect(ticdc_server)
    client._sock.sendall(b"\xff\xff\xff\x00" + bytes(0xFFFFFF))
    for number in range(1, 4):
        client._sock.sendall(b"\xff\xff\xff" + bytes([number]) + bytes(0xFFFFFF))
    client._sock.sendall(b"\xff\xff\xff\x04")
    answer = client._sock.recv(1000)
    assert b"#08S01Got a packet bigger than 'max_allowed_packet' bytes" in answer
    assert run(connect(ticdc_server), "SELECT 1") == ((1,),)


def test_bytes_that_are_no_handshake_harm_nobody(ticdc_server: ServedDatabase) -> None:
    with socket.create_connection((ticdc_server.host, ticdc_server.port)) as raw:
        raw.recv(1000)
        raw.sendall(struct.pack("<I", 5 | 1 << 24) + b"hello")
        raw.recv(1000)
    assert run(connect(ticdc_server), "SELECT 1") == ((1,),)


@pytest.mark.parametrize(
    "sent", [b"", b"\x01", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\1", b"\5\0\0\1" + b"\xff" * 5, b"\x20\0\0\1" + bytes(32)]
)
def test_a_stranger_is_no_error_of_the_server(sent: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """As a health check, which opens a connection and closes it."""
    with TiCDC() as ticdc, TiCDCServer(ticdc) as server:
        for reads in (False, True):
            with socket.create_connection((server.host, server.port)) as raw:
                raw.recv(1000 if reads else 1)
                raw.sendall(sent)
        assert run(connect(server), "SELECT 1") == ((1,),)
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_told() -> None:
    with TiCDC() as ticdc, TiCDCServer(ticdc) as server, TiCDC() as other:
        with pytest.raises(UserError, match=f"127.0.0.1:{server.port} cannot be listened on: Address already in use"):
            TiCDCServer(other, port=server.port).start()


def test_many_connections_at_once(ticdc_server: ServedDatabase) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(connect(ticdc_server))) for _ in range(200)]
        assert len({run(client, "SELECT CONNECTION_ID()")[0][0] for client in clients}) == 200


def test_kill_ends_a_connection_and_its_transaction(ticdc_server: ServedDatabase) -> None:
    one, other = (connect(ticdc_server, database=ticdc_server.name) for _ in range(2))
    run(one, "CREATE TABLE t (id INT PRIMARY KEY)", "BEGIN", "INSERT INTO t VALUES (1)")
    ((number,),) = run(one, "SELECT CONNECTION_ID()")
    run(other, f"KILL {number}", "INSERT INTO t VALUES (1)")
    with pytest.raises(pymysql.MySQLError):
        run(one, "SELECT 1")
    with pytest.raises(pymysql.MySQLError) as failure:
        run(other, "KILL 99999")
    assert failure.value.args == (1094, "Unknown thread id: 99999")


def test_a_port_that_is_taken_is_named(ticdc_server: ServedDatabase) -> None:
    with TiCDC(databases=()) as ticdc, pytest.raises(UserError, match=f"--port {ticdc_server.port}: .* in use"):
        TiCDCServer(ticdc, port=ticdc_server.port).start()


class Reconnecting(TiCDC):
    """Its output stays when it connects anew."""

    def reconnect(self) -> None:
        pass


def test_a_kafka_that_is_gone_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with Reconnecting(databases=(), start_ts=tso.compose(time.time_ns() // 1_000_000)) as ticdc:
        with TiCDCServer(ticdc, real_time=True, tell=told.append) as server:
            tried = threading.Event()

            def fail() -> None:
                if len(told) == 1:
                    tried.set()
                raise DeliveryError("Kafka does not answer")

            with monkeypatch.context() as broken:
                broken.setattr(ticdc.open_changefeed.output, "settle", fail)
                assert tried.wait(10)
            wait_until(lambda: len(told) == 2)
            run(connect(server), "SELECT 1")
    assert told == [
        "the changefeed cannot send, and tries again every second: Kafka does not answer",
        "the changefeed sends again",
    ]


@pytest.mark.parametrize("refuses", [False, True])
def test_a_commit_without_kafka_waits_or_is_refused(monkeypatch: pytest.MonkeyPatch, refuses: bool) -> None:
    with TiCDC(databases=()) as ticdc:
        with TiCDCServer(ticdc, refuse_commits=refuses) as server:
            client = connect(server, database="test")
            run(client, "CREATE TABLE t (id INT PRIMARY KEY)")
            output = ticdc.open_changefeed.output
            settle, broken = output.settle, [3]

            def fail() -> None:
                if broken[0]:
                    broken[0] -= 1
                    raise DeliveryError("Kafka does not answer")
                settle()

            monkeypatch.setattr(output, "settle", fail)
            run(client, "INSERT INTO t VALUES (1)")
            server.run_in_thread(server.database.deliver)
            assert str(server.database.failure) == "Kafka does not answer"
            if refuses:
                with pytest.raises(
                    pymysql.MySQLError, match="the changefeed cannot send this commit, which is rolled back"
                ):
                    run(client, "INSERT INTO t VALUES (2)")
                assert run(client, "SELECT id FROM t") == ((1,),)
            else:
                waiting = threading.Thread(target=run, args=(client, "INSERT INTO t VALUES (2)"))
                waiting.start()
                time.sleep(0.3)
                assert waiting.is_alive() and server.rows("test.t") == [{"id": 1}]
            while server.database.failure is not None:
                server.run_in_thread(server.database.deliver)
            if refuses:
                run(client, "INSERT INTO t VALUES (2)")
            else:
                waiting.join()
            assert run(client, "SELECT id FROM t") == ((1,), (2,))
            sent = [(event.after or {})["id"] for event in server.events() if isinstance(event, RowEvent)]
            assert sent[-2:] == ["1", "2"], "what was answered before Kafka was gone is sent, too"


def test_a_changefeed_that_stops_refuses_later_commits() -> None:
    """TiCDC stops at a message that is too large, and TiDB goes on: here later commits say so."""
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&max-message-bytes=300"
    with TiCDC(sink_uri=uri, databases=()) as ticdc, TiCDCServer(ticdc) as server:
        client = connect(server, database="test")
        run(client, "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(1000))")
        run(client, "INSERT INTO t VALUES (1, 'short')")
        run(client, "INSERT INTO t VALUES (2, REPEAT('x', 900))")
        server.run_in_thread(server.database.deliver)
        assert isinstance(server.database.failure, EncodeError)
        with pytest.raises(pymysql.MySQLError, match="the changefeed cannot send this commit.*ErrMessageTooLarge"):
            run(client, "INSERT INTO t VALUES (3, 'short')")
        assert run(client, "SELECT id FROM t") == ((1,), (2,))


def test_the_data_directory_must_be_writable(tmp_path: Path) -> None:
    from simulator.serve.data_directory import DataDirectory

    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--data .*file.* cannot be written to"):
        DataDirectory(tmp_path / "file" / "data", "v8.5.3", 1)


def test_every_client_is_in_the_list_of_processes(ticdc_server: ServedDatabase) -> None:
    one, other = (connect(ticdc_server, database=ticdc_server.name) for _ in range(2))
    run(one, "BEGIN")
    ((number,),) = run(one, "SELECT CONNECTION_ID()")
    listed = {row[0]: row for row in run(other, "SHOW FULL PROCESSLIST")}
    assert listed[number][1:5] == ("root", "127.0.0.1", ticdc_server.name, "Sleep")
    assert listed[number][6] == "in transaction; autocommit"
    ((info,),) = run(other, "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Sleep'")
    assert info >= 1
