"""TLS, SASL and the machine's setup, as far as they can be told without a server that demands them."""

from __future__ import annotations

import base64
import ssl
import sys
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from support.scripted_servers import Answer, granted, identity_provider

from simulator.errors import DeliveryError, UserError
from simulator.sinks import SINKS
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.library import ClientCredentials, client_options
from simulator.ticdc.changefeed import Sasl, Tls


def options(sasl: Sasl = Sasl(), tls: Tls = Tls()) -> dict[str, object]:
    return client_options(KafkaSettings(("a:1", "b:2"), client_id="me", sasl=sasl, tls=tls))


def test_brokers_and_client_id_are_handed_on_in_plain_text_unless_told_otherwise() -> None:
    found = options()
    assert (found["bootstrap_servers"], found["client_id"]) == (["a:1", "b:2"], "me")
    assert found["security_protocol"] == "PLAINTEXT"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "plain"])
def test_sasl_with_user_and_password(mechanism: str) -> None:
    """TiCDC takes the mechanism in either case. Settings may end up in a message, without the password."""
    found = options(Sasl(mechanism, "u", "hush"))

    assert (found["security_protocol"], found["sasl_mechanism"]) == ("SASL_PLAINTEXT", mechanism.upper())
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == ("u", "hush")
    assert "hush" not in repr(KafkaSettings(("a:1",), sasl=Sasl(mechanism, "u", "hush")))


def test_tls_checks_the_server_unless_told_not_to() -> None:
    strict, lax = options(tls=Tls(True)), options(tls=Tls(True, insecure_skip_verify=True))

    assert strict["security_protocol"] == "SSL"
    contexts = [found["ssl_context"] for found in (strict, lax)]
    assert [c.verify_mode for c in contexts if isinstance(c, ssl.SSLContext)] == [ssl.CERT_REQUIRED, ssl.CERT_NONE]


def test_tls_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Missing, no certificate at all, or a key for which OpenSSL would ask the terminal for a passphrase."""
    issued = trustme.CA().issue_cert("me@example.com")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "key.pem").write_bytes(key.private_bytes(*formats, serialization.BestAvailableEncryption(b"hush")))
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    (tmp_path / "ca.pem").write_text("no certificate")
    encrypted = Tls(True, cert=str(tmp_path / "cert.pem"), key=str(tmp_path / "key.pem"))
    none = (Tls(True, ca=ca) for ca in ("/nowhere/ca.pem", str(tmp_path / "ca.pem")))
    for tls in (*none, encrypted):
        with pytest.raises(UserError, match=f"TLS files cannot be used .*{tls.ca or tls.key}"):
            options(tls=tls)


def test_a_mechanism_that_cannot_be_used_is_said_with_those_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """gssapi is not among the dependencies."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(UserError, match="'KERBEROS' cannot be used; accepted: PLAIN, SCRAM-SHA-256"):
        options(Sasl("KERBEROS"))
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


@pytest.mark.parametrize(("expires_in", "requests"), [(300, 1), (20, 2)])
def test_a_token_is_kept_until_half_a_minute_before_it_expires(expires_in: int, requests: int) -> None:
    """The secret goes in the header, as TiCDC's client sends it first."""
    with identity_provider(granted("token", expires_in=expires_in)) as server:
        credentials = provider(server.url)
        tokens = [credentials.token(), credentials.token()]

    assert tokens == ["token", "token"]
    pair = base64.b64encode(b"me%3A:s%26cret").decode()
    assert server.asked == [(f"Basic {pair}", {"grant_type": ["special"], "scope": ["a b"]})] * requests


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
    with identity_provider(answer) as server, pytest.raises(UserError) as caught:
        provider(server.url).token()

    assert f"sasl-oauth-token-url {server.url}/token" in str(caught.value)
    assert text in str(caught.value) and "\n" not in str(caught.value) and "x=1" not in str(caught.value)
    assert [form.get("client_secret") for _, form in server.asked] == [None, ["s&cret"]]


@pytest.mark.parametrize(("answer", "text"), [((503, b""), "503 Service Unavailable"), (None, "timed out")])
def test_a_provider_that_does_not_work_is_a_failed_delivery(answer: Answer | None, text: str) -> None:
    with identity_provider(answer) as server:
        with pytest.raises(DeliveryError, match=f"sasl-oauth-token-url {server.url}/token.*{text}"):
            provider(server.url, timeout=0.2).token()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1", "token-url http://127.0.0.1:1/token does not answer: Connection refused"),
        *(
            (url, "does not answer: unknown url type")
            for url in ("file:///etc/passwd", "ftp://127.0.0.1:1", "data:,{}")
        ),
    ],
)
def test_a_provider_that_is_not_there_is_a_failed_delivery(url: str, words: str) -> None:
    """Nothing but HTTP is opened, whatever calls itself a token URL."""
    with pytest.raises(DeliveryError, match=words):
        provider(url).token()


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
