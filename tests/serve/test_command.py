"""The options of `ticdc-sim serve`, and TLS."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.playing import play

from simulator import TiCDC
from simulator.api.server import TiCDCServer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1)
    )
    pem = serialization.Encoding.PEM
    (directory / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "key.pem").write_bytes(private)
    return directory / "cert.pem", directory / "key.pem"


@pytest.fixture
def over_tls(certificate: tuple[Path, Path]) -> Iterator[TiCDCServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with TiCDC(databases=()) as ticdc:
        server = TiCDCServer(ticdc, passwords={"ann": "pen"}, authentication="caching_sha2_password", ssl=context)
        with server:
            yield server


def test_a_password_is_checked_over_tls(over_tls: TiCDCServer, certificate: tuple[Path, Path]) -> None:
    client = pymysql.connect(
        host=over_tls.host,
        port=over_tls.port,
        user="ann",
        password="pen",
        ssl={"ca": str(certificate[0]), "check_hostname": False},
    )
    with client, client.cursor() as cursor:
        assert client._secure  # type: ignore[attr-defined]
        cursor.execute("SELECT VERSION()")
        assert cursor.fetchall() == (("8.0.11-TiDB-v8.5.3",),)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--resume"], "--resume needs --data DIR"),
        (["--tls-cert", "x.pem"], "--tls-cert and --tls-key belong together"),
        (["--tls-cert", "x.pem", "--tls-key", "y.pem"], "cannot read x.pem: No such file"),
        (["--tls-cert", __file__, "--tls-key", __file__], "they cannot be used"),
        (["--release", "v99"], "unknown TiCDC release 'v99'"),
        (["--sink-uri", "kafka://127.0.0.1:9/t?protocol=nonsense"], "nonsense"),
        (["--port", "99999"], "99999"),
        (["--console", "--fixtures", "x"], "exclude each other"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert play("serve", *options) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
