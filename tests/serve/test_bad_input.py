"""What clients do wrong, and what goes wrong around them."""

from __future__ import annotations

import gc
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import Any

import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from simulator import TiCDC, tso
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.changefeeds.served import clock_ms
from simulator.errors import DeliveryError, EncodeError, UserError
from simulator.reader.decode import RowEvent
from simulator.serve import Access
from simulator.serve.data_directory import DataDirectory

Connect = Callable[..., Any]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# Who may come in


@pytest.fixture(params=["mysql_native_password", "caching_sha2_password"])
def guarded(request: pytest.FixtureRequest) -> Iterator[TiCDCServer]:
    with TiCDC(databases=()) as ticdc:
        passwords = {"root": "", "ann": "pen & ink"}
        with TiCDCServer(ticdc, access=Access(passwords=passwords, authentication=request.param)) as server:
            yield server


def refusal(connect: Connect, port: int, **options: Any) -> tuple[Any, ...]:
    """Number and text of the error with which a client is not let in."""
    with pytest.raises(pymysql.err.OperationalError) as failure:
        connect(port, **options)
    return failure.value.args


def test_passwords_are_checked(guarded: TiCDCServer, connect: Connect) -> None:
    assert connect(guarded.port, user="ann", password="pen & ink").run("SELECT USER()") == (("ann@127.0.0.1",),)
    for user, password, used in (("ann", "ink", "YES"), ("ann", "", "NO"), ("bob", "x", "YES"), ("root", "x", "YES")):
        text = f"Access denied for user '{user}'@'127.0.0.1' (using password: {used})"
        assert refusal(connect, guarded.port, user=user, password=password) == (1045, text)


@pytest.mark.slow
def test_a_password_is_checked_over_tls(tmp_path: Path, connect: Connect) -> None:
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]),
    )
    now, pem = datetime.now(UTC), serialization.Encoding.PEM
    number, public = x509.random_serial_number(), key.public_key()
    made = x509.CertificateBuilder(name, name, public, number, now, now + timedelta(days=1)).sign(key, hashes.SHA256())
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate = tmp_path / "server.pem"
    certificate.write_bytes(made.public_bytes(pem) + private)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with (
        TiCDC(databases=()) as ticdc,
        TiCDCServer(ticdc, access=Access("127.0.0.1", 0, {"ann": "pen"}, "caching_sha2_password", context)) as server,
    ):
        tls = {"ca": str(certificate), "check_hostname": False}
        client = connect(server.port, user="ann", password="pen", ssl=tls, ssl_disabled=False)
        assert client._secure
        assert client.run("SELECT VERSION()") == (("8.0.11-TiDB-v8.5.3",),)


@pytest.mark.slow
def test_a_stranger_is_no_error_of_the_server(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    """As a health check, which opens a connection and closes it; and bytes that are no handshake harm nobody."""
    half = (b"", b"\x01", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\1")
    whole = (b"\5\0\0\1" + b"\xff" * 5, b"\x20\0\0\1" + bytes(32), struct.pack("<I", 5 | 1 << 24) + b"hello")
    with TiCDC() as ticdc, TiCDCServer(ticdc) as server:
        for sent in (*half, *whole):
            for reads in (False, True):
                with socket.create_connection((server.host, server.port)) as raw:
                    raw.recv(1000 if reads else 1)
                    raw.sendall(sent)
            assert connect(server.port).run("SELECT 1") == ((1,),), sent
    gc.collect()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_many_connections_at_once(ticdc_server: ServedDatabase, connect: Connect) -> None:
    clients = [connect(ticdc_server.port) for _ in range(200)]
    assert len({client.run("SELECT CONNECTION_ID()") for client in clients}) == 200


# What they ask


def test_what_cannot_be_is_refused_by_name(ticdc_server: ServedDatabase, connect: Connect) -> None:
    """An unknown database, what is not simulated, and several statements without the client's consent."""
    unknown = (1049, "Unknown database 'nowhere'")
    assert refusal(connect, ticdc_server.port, database="nowhere") == unknown
    client = connect(ticdc_server.port, database=ticdc_server.name)
    refused = {"LOAD DATA INFILE 'x' INTO TABLE t": 1235, "SELEC 1": 1064, "": 1065, "SELECT 1; SELECT 2": 8130}
    assert {sql: client.error(sql)[0] for sql in refused} == refused
    assert client.run("SELECT 1") == ((1,),)


@pytest.mark.slow
def test_a_packet_above_max_allowed_packet_ends_the_connection(ticdc_server: ServedDatabase, connect: Connect) -> None:
    client = connect(ticdc_server.port)
    client._sock.sendall(b"\xff\xff\xff\x00" + bytes(0xFFFFFF))
    for number in range(1, 4):
        client._sock.sendall(b"\xff\xff\xff" + bytes([number]) + bytes(0xFFFFFF))
    client._sock.sendall(b"\xff\xff\xff\x04")
    assert b"#08S01Got a packet bigger than 'max_allowed_packet' bytes" in client._sock.recv(1000)
    assert connect(ticdc_server.port).run("SELECT 1") == ((1,),)


# What goes wrong around them


def test_a_port_in_use_is_told(ticdc_server: ServedDatabase) -> None:
    port = ticdc_server.port
    words = f"--port {port}: 127.0.0.1:{port} cannot be listened on: Address already in use"
    with TiCDC(databases=()) as ticdc, pytest.raises(UserError, match=words):
        TiCDCServer(ticdc, access=Access(port=port)).start()


def test_the_data_directory_must_be_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--data .*file.* cannot be written to"):
        DataDirectory(tmp_path / "file" / "data", "v8.5.3", 1)


class Reconnecting(TiCDC):
    """Its output stays when it connects anew."""

    def reconnect(self) -> None:
        pass


@pytest.mark.slow
def test_a_kafka_that_is_gone_is_told_once(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with Reconnecting(databases=(), start_ts=tso.compose(time.time_ns() // 1_000_000)) as ticdc:
        with TiCDCServer(ticdc, clock=clock_ms, tell=told.append) as server:
            tried = threading.Event()

            def fail() -> None:
                if len(told) == 1:
                    tried.set()
                raise DeliveryError("Kafka does not answer")

            with monkeypatch.context() as broken:
                broken.setattr(ticdc.open_changefeed.output, "settle", fail)
                assert tried.wait(10)
            wait_until(lambda: len(told) == 2)
            connect(server.port).run("SELECT 1")
    assert told == [
        "the changefeed cannot send, and tries again every second: Kafka does not answer",
        "the changefeed sends again",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [False, True])
def test_without_kafka_commits_wait_or_fail(connect: Connect, monkeypatch: pytest.MonkeyPatch, refuses: bool) -> None:
    with TiCDC(databases=()) as ticdc:
        with TiCDCServer(ticdc, refuse_commits=refuses) as server:
            client = connect(server.port)
            client.run("CREATE TABLE t (id INT PRIMARY KEY)")
            output = ticdc.open_changefeed.output
            settle, broken = output.settle, [3]

            def fail() -> None:
                if broken[0]:
                    broken[0] -= 1
                    raise DeliveryError("Kafka does not answer")
                settle()

            monkeypatch.setattr(output, "settle", fail)
            client.run("INSERT INTO t VALUES (1)")
            server.run_in_thread(server.changefeeds.follow)
            assert str(server.changefeeds.failure) == "Kafka does not answer"
            if refuses:
                error = client.error("INSERT INTO t VALUES (2)")
                assert "the changefeed cannot send this commit, which is rolled back" in error[1]
                assert client.run("SELECT id FROM t") == ((1,),)
            else:
                waiting = threading.Thread(target=client.run, args=("INSERT INTO t VALUES (2)",))
                waiting.start()
                time.sleep(0.3)
                assert waiting.is_alive() and server.rows("test.t") == [{"id": 1}]
            while server.changefeeds.failure is not None:
                server.run_in_thread(server.changefeeds.follow)
            if refuses:
                client.run("INSERT INTO t VALUES (2)")
            else:
                waiting.join()
            assert client.run("SELECT id FROM t") == ((1,), (2,))
            sent = [(event.after or {})["id"] for event in server.events() if isinstance(event, RowEvent)]
            assert sent[-2:] == ["1", "2"], "what was answered before Kafka was gone is sent, too"


def test_a_changefeed_that_stops_refuses_later_commits(connect: Connect) -> None:
    """TiCDC stops at a message that is too large, and TiDB goes on: here later commits say so."""
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&max-message-bytes=300"
    with TiCDC(sink_uri=uri, databases=()) as ticdc, TiCDCServer(ticdc) as server:
        client = connect(server.port)
        client.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(1000))", "INSERT INTO t VALUES (1, 'short')")
        client.run("INSERT INTO t VALUES (2, REPEAT('x', 900))")
        server.run_in_thread(server.changefeeds.follow)
        assert isinstance(server.changefeeds.failure, EncodeError)
        _, text = client.error("INSERT INTO t VALUES (3, 'short')")
        assert "the changefeed cannot send this commit" in text and "ErrMessageTooLarge" in text
        assert client.run("SELECT id FROM t") == ((1,), (2,))


def test_tidb_executes_the_statement_that_stops_the_changefeed(connect: Connect, tmp_path: Path) -> None:
    """Later commits are refused, and sent by a changefeed that begins anew."""
    for commits in (False, True):
        with (
            closing(DataDirectory(tmp_path / "data", "v8.0.0", 455000614502400000)) as data,
            TiCDC("v8.0.0", databases=(), start_ts=data.start_ts) as ticdc,
            TiCDCServer(ticdc, data=data) as server,
        ):
            client = connect(server.port)
            if not commits:
                client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
                client.run("RENAME TABLE t TO t1, t1 TO t2")
                _, text = client.error("INSERT INTO t2 VALUES (2)")
                assert "the changefeed cannot send this commit" in text and "ErrSnapshotTableNotFound" in text
                assert client.run("SELECT id FROM t2") == ((1,),)
                assert [event.table for event in server.events() if isinstance(event, RowEvent)] == ["t"]
            else:
                client.run("INSERT INTO t2 VALUES (2)")
                assert [event.after for event in server.events() if isinstance(event, RowEvent)] == [{"id": "2"}]
            client.close()
