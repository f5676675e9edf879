"""TLS, SASL and the machine's setup, as far as they can be told without a server that demands them."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from simulator.errors import UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka_admin import prepare_topics
from simulator.sinks.kafka_connect import ClientCredentials, client_options
from simulator.sinks.kafka_settings import KafkaSettings, OAuth, Security


def options(security: Security) -> dict[str, object]:
    return client_options(KafkaSettings(("a:1", "b:2"), security=security))


def test_brokers_and_client_id_are_handed_on() -> None:
    """In plain text unless told otherwise."""
    plain = client_options(KafkaSettings(("a:1", "b:2"), client_id="me"))

    assert (["a:1", "b:2"], "me") == (plain["bootstrap_servers"], plain["client_id"])
    assert "PLAINTEXT" == plain["security_protocol"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "plain"])
def test_sasl_with_user_and_password(mechanism: str) -> None:
    """TiCDC takes the mechanism in either case."""
    found = options(Security(sasl_mechanism=mechanism, sasl_user="u", sasl_password="p"))

    assert ("SASL_PLAINTEXT", mechanism.upper()) == (found["security_protocol"], found["sasl_mechanism"])
    assert ("u", "p") == (found["sasl_plain_username"], found["sasl_plain_password"])


def test_tls_checks_the_server_unless_told_not_to() -> None:
    """insecure-skip-verify."""
    strict, lax = options(Security(enable_tls=True)), options(Security(enable_tls=True, insecure_skip_verify=True))

    assert "SSL" == strict["security_protocol"]
    contexts = [found["ssl_context"] for found in (strict, lax)]
    assert [ssl.CERT_REQUIRED, ssl.CERT_NONE] == [c.verify_mode for c in contexts if isinstance(c, ssl.SSLContext)]


def test_tls_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Missing, or no certificate at all."""
    (tmp_path / "ca.pem").write_text("no certificate")
    for ca in ("/nowhere/ca.pem", str(tmp_path / "ca.pem")):
        with pytest.raises(UserError, match=f"TLS files cannot be used .*{ca}"):
            options(Security(enable_tls=True, ca=ca))


def test_a_mechanism_that_cannot_be_used_is_said_with_those_that_can() -> None:
    """One line."""
    with pytest.raises(UserError, match="'KERBEROS' cannot be used: PLAIN, SCRAM-SHA-256"):
        options(Security(sasl_mechanism="KERBEROS"))


def test_gssapi_without_its_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among the dependencies."""
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(UserError, match="needs the Python package gssapi"):
        options(Security(sasl_mechanism="GSSAPI"))


class Provider(BaseHTTPRequestHandler):
    """An identity provider that grants numbered tokens."""

    asked: list[dict[str, list[str]]] = []

    def do_POST(self) -> None:
        self.asked.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": f"token {len(self.asked)}", "expires_in": 300}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Keeps quiet."""


def test_a_token_is_fetched_once_by_client_credentials() -> None:
    """And kept while it is valid."""
    with HTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        oauth = OAuth("me", "secret", f"http://127.0.0.1:{server.server_port}/token", ("a", "b"))
        found = options(Security(sasl_mechanism="OAUTHBEARER", oauth=oauth))["sasl_oauth_token_provider"]
        assert isinstance(found, ClientCredentials)
        tokens = [found.token(), found.token()]
        server.shutdown()

    assert ["token 1", "token 1"] == tokens
    asked = {"grant_type": ["client_credentials"], "client_id": ["me"], "client_secret": ["secret"], "scope": ["a b"]}
    assert [asked] == Provider.asked


@pytest.mark.parametrize(("module", "compression", "words"), [
    ("crc32c", "none", r"^the Python package crc32c is missing: pip install 'kafka-python\[crc32c\]'$"),
    ("snappy", "snappy", r"^compression snappy cannot be used: .* snappy is missing: .*kafka-python\[snappy\]'$"),
    ("zstandard", "zstd", r"^compression zstd cannot be used: .* zstandard is missing: .*kafka-python\[zstd\]'$"),
])
def test_a_missing_package_is_said(
    monkeypatch: pytest.MonkeyPatch, module: str, compression: str, words: str
) -> None:
    """Before Kafka is asked for anything, and on a machine that only sends, with the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    settings = KafkaSettings(("127.0.0.1:1",), compression=compression)

    with pytest.raises(UserError, match=words):
        prepare_topics(settings, {"t": None})
    with pytest.raises(UserError, match=words):
        SINKS["kafka"](settings, ["t"])


def test_passwords_are_not_shown() -> None:
    """Settings may end up in a message."""
    assert "hush" not in repr(KafkaSettings(("a:1",), security=Security(sasl_user="u", sasl_password="hush")))
