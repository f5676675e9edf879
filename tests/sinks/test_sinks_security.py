"""TLS, SASL and the machine's setup, as far as they can be told without a server that demands them."""

from __future__ import annotations

import base64
import ssl
import sys
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from support.identity_provider import Answer, granted, identity_provider

from simulator.errors import DeliveryError, UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.connect import ClientCredentials, client_options
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.ticdc.changefeed import Sasl, Tls


def options(sasl: Sasl = Sasl(), tls: Tls = Tls()) -> dict[str, object]:
    return client_options(KafkaSettings(("a:1", "b:2"), sasl=sasl, tls=tls))


def test_brokers_and_client_id_are_handed_on() -> None:
    """In plain text unless told otherwise."""
    plain = client_options(KafkaSettings(("a:1", "b:2"), client_id="me"))

    assert (["a:1", "b:2"], "me") == (plain["bootstrap_servers"], plain["client_id"])
    assert "PLAINTEXT" == plain["security_protocol"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "plain"])
def test_sasl_with_user_and_password(mechanism: str) -> None:
    """TiCDC takes the mechanism in either case."""
    found = options(Sasl(mechanism, "u", "p"))

    assert ("SASL_PLAINTEXT", mechanism.upper()) == (found["security_protocol"], found["sasl_mechanism"])
    assert ("u", "p") == (found["sasl_plain_username"], found["sasl_plain_password"])


def test_tls_checks_the_server_unless_told_not_to() -> None:
    """insecure-skip-verify."""
    strict, lax = options(tls=Tls(True)), options(tls=Tls(True, insecure_skip_verify=True))

    assert "SSL" == strict["security_protocol"]
    contexts = [found["ssl_context"] for found in (strict, lax)]
    assert [ssl.CERT_REQUIRED, ssl.CERT_NONE] == [c.verify_mode for c in contexts if isinstance(c, ssl.SSLContext)]


def test_tls_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Missing, or no certificate at all."""
    (tmp_path / "ca.pem").write_text("no certificate")
    for ca in ("/nowhere/ca.pem", str(tmp_path / "ca.pem")):
        with pytest.raises(UserError, match=f"TLS files cannot be used .*{ca}"):
            options(tls=Tls(True, ca=ca))


def test_a_mechanism_that_cannot_be_used_is_said_with_those_that_can() -> None:
    """One line."""
    with pytest.raises(UserError, match="'KERBEROS' cannot be used; accepted: PLAIN, SCRAM-SHA-256"):
        options(Sasl("KERBEROS"))


def test_gssapi_without_its_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among the dependencies."""
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(UserError, match="needs the Python package gssapi"):
        options(Sasl("GSSAPI"))


def provider(url: str, timeout: float = 5.0) -> ClientCredentials:
    sasl = Sasl(
        "OAUTHBEARER",
        oauth_client_id="me:",
        oauth_client_secret="s&cret",
        oauth_token_url=f"{url}/token?x=1",
        oauth_scopes=("a", "b"),
        oauth_grant_type="special",
    )
    settings = KafkaSettings(("a:1",), read_timeout=timeout, sasl=sasl)
    found = client_options(settings)["sasl_oauth_token_provider"]
    assert isinstance(found, ClientCredentials)
    return found


def test_a_token_is_fetched_once_by_client_credentials() -> None:
    """And kept while it is valid; the secret goes in the header, as TiCDC's client sends it first."""
    with identity_provider(granted("token", expires_in=300)) as server:
        credentials = provider(server.url)
        tokens = [credentials.token(), credentials.token()]

    assert ["token", "token"] == tokens
    pair = base64.b64encode(b"me%3A:s%26cret").decode()
    assert [(f"Basic {pair}", {"grant_type": ["special"], "scope": ["a b"]})] == server.asked


def test_a_token_that_is_about_to_expire_is_fetched_anew() -> None:
    """Half a minute before."""
    with identity_provider(granted("short", expires_in=20)) as server:
        credentials = provider(server.url)
        tokens = [credentials.token(), credentials.token()]

    assert (["short", "short"], 2) == (tokens, len(server.asked))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((401, b""), "no token: 401 Unauthorized"),
        ((400, b'{"error": "invalid_client", "error_description": "Who?"}'), "400 Bad Request: invalid_client: Who?"),
        ((200, b"<html>"), "the answer is not JSON"),
        ((200, b"\xff"), "the answer is not JSON"),
        ((200, b"[]"), "the answer has no access_token"),
        ((200, b'{"access_token": ""}'), "the answer has no access_token"),
        ((200, b'{"error": "invalid_scope"}'), "the answer has no access_token: invalid_scope"),
        ((302, b""), "no token: 302 Found"),
    ],
)
def test_a_token_that_is_refused_is_one_line(answer: Answer, text: str) -> None:
    """Asked for again with the secret in the form, which some providers want; no redirection is followed."""
    with identity_provider(answer) as server:
        with pytest.raises(UserError) as caught:
            provider(server.url).token()

    assert f"sasl-oauth-token-url {server.url}/token" in str(caught.value)
    assert text in str(caught.value) and "\n" not in str(caught.value) and "x=1" not in str(caught.value)
    assert [None, ["s&cret"]] == [form.get("client_secret") for _, form in server.asked]


@pytest.mark.parametrize(("answer", "text"), [((503, b""), "503 Service Unavailable"), (None, "timed out")])
def test_a_provider_that_does_not_work_is_a_failed_delivery(answer: Answer | None, text: str) -> None:
    """Overloaded, or silent."""
    with identity_provider(answer) as server:
        with pytest.raises(DeliveryError, match=f"sasl-oauth-token-url {server.url}/token.*{text}"):
            provider(server.url, timeout=0.2).token()


def test_a_provider_that_is_not_there_is_a_failed_delivery() -> None:
    """One line."""
    with pytest.raises(DeliveryError, match="token-url http://127.0.0.1:1/token does not answer: Connection refused"):
        provider("http://127.0.0.1:1").token()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1:1", "data:,{}"])
def test_nothing_but_http_is_opened(url: str) -> None:
    """Whatever calls itself a token URL."""
    with pytest.raises(DeliveryError, match="does not answer: unknown url type"):
        provider(url).token()


def test_an_encrypted_key_is_refused_and_no_passphrase_is_asked_for(tmp_path: Path) -> None:
    """OpenSSL would ask the terminal."""
    issued = trustme.CA().issue_cert("me@example.com")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "key.pem").write_bytes(key.private_bytes(*formats, serialization.BestAvailableEncryption(b"hush")))
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")

    with pytest.raises(UserError, match="TLS files cannot be used .*key.pem"):
        options(tls=Tls(True, cert=str(tmp_path / "cert.pem"), key=str(tmp_path / "key.pem")))


@pytest.mark.parametrize(
    ("module", "compression", "words"),
    [
        ("crc32c", "none", r"^the Python package crc32c is missing: pip install 'kafka-python\[crc32c\]'$"),
        ("snappy", "snappy", r"^compression snappy cannot be used: .* snappy is missing: .*kafka-python\[snappy\]'$"),
        ("zstandard", "zstd", r"^compression zstd cannot be used: .* zstandard is missing: .*kafka-python\[zstd\]'$"),
    ],
)
def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch, module: str, compression: str, words: str) -> None:
    """Before Kafka is asked for anything, and on a machine that only sends, with the command that installs it."""
    monkeypatch.setitem(sys.modules, module, None)
    settings = KafkaSettings(("127.0.0.1:1",), compression=compression)

    with pytest.raises(UserError, match=words):
        prepare_topics(settings, {"t": None})
    with pytest.raises(UserError, match=words):
        SINKS["kafka"](settings, ["t"])


def test_passwords_are_not_shown() -> None:
    """Settings may end up in a message."""
    assert "hush" not in repr(KafkaSettings(("a:1",), sasl=Sasl(user="u", password="hush")))
