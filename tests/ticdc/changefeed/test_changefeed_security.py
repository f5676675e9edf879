"""TLS, SASL and timeouts: one reading for sink-uri and `inspect`, and what TiCDC's client of Kafka would refuse."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.playing import error_of, play, said

from simulator import releases
from simulator.errors import ChangefeedError
from simulator.ticdc.changefeed import Kafka, Tls, load, parse_kafka_uri

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
FILES = "ca=/a&cert=/b&key=/c"
LOGIN = "sasl-mechanism=PLAIN&sasl-user=u&sasl-password=hush"
KERBEROS = {
    "service-name": "kafka",
    "auth-type": "keytab",
    "keytab-path": "/k",
    "kerberos-config-path": "/c",
    "user": "u",
    "realm": "R",
}


def kerberos(without: str = "") -> str:
    """All parameters of GSSAPI, or all but one."""
    given = (f"sasl-gssapi-{key}={value}" for key, value in KERBEROS.items() if key != without)
    return "&".join(("sasl-mechanism=GSSAPI", *given))


def warnings(uri: str, toml: str = "", release: str = "v8.5.3") -> tuple[str, ...]:
    return load(uri, toml, releases.find(release, None)).warnings


@pytest.mark.parametrize(
    "parameters",
    [
        *("", "enable-tls=true", "enable-tls=T", "enable-tls=0", "enable-tls=", FILES, f"{FILES}&enable-tls=t"),
        *("insecure-skip-verify=true", "enable-tls=1&insecure-skip-verify=1", LOGIN, f"{LOGIN}&{FILES}"),
        *("dial-timeout=1m&kafka-client-id=me", "sasl-password=a%26b+c&sasl-mechanism=scram-sha-512&sasl-user=u"),
    ],
)
@pytest.mark.parametrize("scheme", ["kafka", "kafka+ssl"])
def test_an_address_means_the_same_to_inspect_as_in_a_sink_uri(scheme: str, parameters: str) -> None:
    uri = f"{scheme}://h:1,i:2/shop?protocol=open-protocol&{parameters}"
    feed, (topic, kafka, said) = load(uri), parse_kafka_uri(uri)

    assert (feed.topic, feed.kafka) == (topic, kafka)
    assert feed.warnings == said


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("enable-tls=TRue", 'enable-tls: strconv.ParseBool: parsing "TRue": invalid syntax; true or false is accepted'),
        ("insecure-skip-verify=yes", 'parsing "yes": invalid syntax'),
        ("ca=/a", "ca, cert and key files should all be supplied"),
        (f"{FILES}&enable-tls=false", "credential files are supplied, but 'enable-tls' is set to false"),
        ("sasl-mechanism=md5", "unknown md5 SASL mechanism"),
        ("dial-timeout=soon", 'time: invalid duration "soon"'),
    ],
)
def test_inspect_refuses_what_does_not_parse(parameters: str, text: str) -> None:
    """Exit code 2, with the text that a sink-uri gets."""
    with pytest.raises(ChangefeedError, match=".*"):
        load(f"{URI}&{parameters}")

    assert text in error_of("inspect", f"kafka://127.0.0.1:1/shop?{parameters}")


def test_inspect_says_what_of_an_address_has_no_effect() -> None:
    assert said("inspect", "kafka://127.0.0.1:1/shop?enable-tsl=true&sasl-user=u").err[:2] == [
        "warning: sink-uri: unknown key 'enable-tsl' is ignored. Did you mean 'enable-tls'?",
        "warning: sasl-user has no effect: sasl-mechanism is not set",
    ]


@contextmanager
def eavesdropper() -> Iterator[tuple[str, list[bytes]]]:
    """Address of a server that says nothing and ends each connection, and the first bytes that each brought."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(2)
                    heard.append(connection.recv(1 << 16))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}", heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("scheme", "parameters", "text"),
    [
        ("kafka+ssl", "", "the scheme kafka+ssl is given, but TLS is off"),
        ("kafka", "insecure-skip-verify=true", "insecure-skip-verify is given, but TLS is off"),
    ],
)
def test_a_password_goes_nowhere_where_tls_was_meant_and_is_off(scheme: str, parameters: str, text: str) -> None:
    """TiCDC would send it in plain text; here nothing is connected to."""
    with eavesdropper() as (address, heard):
        assert text in error_of("inspect", f"{scheme}://{address}/shop?{LOGIN}&{parameters}")

    assert [] == heard


@pytest.mark.parametrize("parameters", ["enable-tls=1", "enable-tls=true", "enable-tls=t&insecure-skip-verify=1"])
def test_tls_that_is_asked_for_in_any_spelling_is_spoken_from_the_first_byte(parameters: str) -> None:
    """0x16 begins a TLS handshake; where that fails, no more than the question for Kafka's versions follows."""
    with eavesdropper() as (address, heard):
        assert 3 == play("inspect", f"kafka://{address}/shop?{LOGIN}&{parameters}")

    assert heard[0][:1] == b"\x16"
    assert b"hush" not in b"".join(heard)


def test_tls_is_off_where_enable_tls_is_false_whatever_else_asks_for_it() -> None:
    """enable-tls=false beside kafka+ssl; up to 6.0 there is no such word."""
    assert Tls(asked_by="the scheme kafka+ssl") == load(URI.replace("kafka:", "kafka+ssl:")).kafka.tls
    assert Tls() == load(f"{URI.replace('kafka:', 'kafka+ssl:')}&enable-tls=false").kafka.tls
    old = load(f"{URI}&cert=/b&key=/c", "", releases.find("v6.0.0", None)).kafka.tls
    assert (False, "cert, key") == (old.enabled, old.asked_by)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("dial-timeout=0s", "kafka: invalid configuration (Net.DialTimeout must be > 0)"),
        ("read-timeout=-1s", "kafka: invalid configuration (Net.ReadTimeout must be > 0)"),
        ("write-timeout=-5m", "kafka: invalid configuration (Net.WriteTimeout must be > 0)"),
        ("sasl-mechanism=PLAIN&sasl-password=p", "(Net.SASL.User must not be empty when SASL is enabled)"),
        ("sasl-mechanism=scram-sha-256&sasl-user=u", "(Net.SASL.Password must not be empty when SASL is enabled)"),
        ("sasl-mechanism=GSSAPI", "(Net.SASL.GSSAPI.ServiceName must not be empty when GSS-API mechanism is used)"),
        ("sasl-mechanism=GSSAPI&sasl-gssapi-service-name=k", "(Net.SASL.GSSAPI.AuthType is invalid)"),
        *(
            (kerberos(without=name), f"(Net.SASL.GSSAPI.{text} must not be empty when GSS-API mechanism is used)")
            for name, text in (
                ("keytab-path", "KeyTabPath"),
                ("kerberos-config-path", "KerberosConfigPath"),
                ("user", "Username"),
                ("realm", "Realm"),
            )
        ),
    ],
)
def test_what_ticdcs_client_of_kafka_refuses_is_refused(parameters: str, text: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        load(f"{URI}&{parameters}")

    assert text in caught.value.text and "CDC:ErrKafkaNewProducer" == caught.value.code


@pytest.mark.parametrize("duration", ["9223372037s", "99999999h", "1e9h", "9" * 400 + "s", "infs", "nans"])
def test_a_timeout_that_go_cannot_hold_is_refused(duration: str) -> None:
    """292 years are the most."""
    with pytest.raises(ChangefeedError, match="dial-timeout: time: "):
        load(f"{URI}&dial-timeout={duration}")


def test_a_timeout_of_two_hundred_years_does_no_harm() -> None:
    """Python's sockets wait 24 days at most."""
    waiting = "kafka://127.0.0.1:1/shop?dial-timeout=2000000h&read-timeout=2000000h"
    assert "does not answer: Connection refused" in error_of("inspect", waiting, code=3)


@pytest.mark.parametrize(
    ("release", "parameters", "text"),
    [
        ("v8.5.3", "replication-factor=-3", "`replication-factor` -3 is smaller than the `min.insync.replicas`"),
        ("v8.5.3", "replication-factor=0", "`replication-factor` 0 is smaller than the `min.insync.replicas`"),
        ("v6.0.0", "sasl-user=u&sasl-password=p", "Unsupported sasl-mechanism, should be SCRAM-SHA-256 or"),
        ("v6.0.0", LOGIN, "Unsupported sasl-mechanism, should be SCRAM-SHA-256 or"),
    ],
)
def test_what_ticdc_refuses_when_its_sink_starts_is_refused(release: str, parameters: str, text: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        load(f"{URI}&{parameters}", "", releases.find(release, None))

    assert text in caught.value.text


def test_up_to_6_0_a_user_turns_sasl_on() -> None:
    """By SCRAM alone; a mechanism or a password without user is said to have no effect."""
    scram = f"{URI}&sasl-user=u&sasl-password=p&sasl-mechanism=scram-sha-256"
    why = "has no effect: sasl-user is not set"

    assert "SCRAM-SHA-256" == load(scram, "", releases.find("v6.0.0", None)).kafka.sasl.mechanism
    assert (f"sasl-password {why}", f"sasl-mechanism {why}") == (
        warnings(f"{URI}&sasl-mechanism=PLAIN&sasl-password=p", "", "v6.0.0")
    )


@pytest.mark.parametrize(
    ("parameters", "toml", "text"),
    [
        ("sasl-gssapi-realm=R", "", "sasl-gssapi-realm has no effect: sasl-mechanism is not set"),
        (f"{LOGIN}&sasl-gssapi-user=u", "", "sasl-gssapi-user has no effect: sasl-mechanism is PLAIN, not GSSAPI"),
        (f"{LOGIN}&sasl-gssapi-disable-pafxfast=false", "", "sasl-gssapi-disable-pafxfast has no effect: sasl-"),
        (kerberos(), "", "sasl-gssapi-keytab-path has no effect: this simulator uses the ticket that kinit got"),
        (LOGIN, "sasl-oauth-grant-type = 'x'", "sasl-oauth-grant-type has no effect: sasl-mechanism is PLAIN, "),
        ("", "sasl-oauth-scopes = ['x']", "sasl-oauth-scopes has no effect: sasl-mechanism is not set"),
        ("sasl-mechanism=OAUTHBEARER&sasl-user=u", "", "sasl-user has no effect: sasl-mechanism OAUTHBEARER"),
        ("required-acks=1&replication-factor=-3", "", "replication-factor -3: Kafka creates no topic with that"),
    ],
)
def test_a_security_setting_without_effect_is_said_by_name(parameters: str, toml: str, text: str) -> None:
    said = warnings(f"{URI}&{parameters}", f"[sink.kafka-config]\n{toml}" if toml else "")

    assert [text] == [warning[: len(text)] for warning in said if warning.startswith(text)]


@pytest.mark.parametrize("url", ["ftp://h/t", "file:///etc/passwd", "h/t", "http:///t", "http://[::1/t"])
def test_a_token_url_is_http_or_https(url: str) -> None:
    toml = (
        "[sink.kafka-config]\nsasl-mechanism = 'OAUTHBEARER'\nsasl-oauth-client-id = 'me'\n"
        f"sasl-oauth-client-secret = 'c2VjcmV0'\nsasl-oauth-token-url = '{url}'\n"
    )
    with pytest.raises(ChangefeedError, match="OAuth2 token URL .* is none; accepted: http://… and https://…"):
        load(URI, toml)


@pytest.mark.parametrize("ts", ["9223372036854775808", "true", "-9223372036854775809", "1.5"])
def test_an_ignored_start_ts_is_an_integer_of_64_bits(ts: str) -> None:
    with pytest.raises(ChangefeedError, match="filter.ignore-txn-start-ts = .*: a list of integers of 64 bits is"):
        load(URI, f"[filter]\nignore-txn-start-ts = [{ts}]")


def test_an_ignored_start_ts_that_is_no_tso_is_said_to_have_no_effect() -> None:
    """TiCDC takes a negative one for a huge one."""
    assert ("filter.ignore-txn-start-ts: -5 has no effect, it is no TSO",) == (
        warnings(URI, "[filter]\nignore-txn-start-ts = [-5, 415508878783938562]")
    )


@pytest.mark.parametrize(
    "toml",
    [
        '["(top level)"]\nforce-replicate = true',
        '["sink-uri"]\nprotocol = "canal-json"',
        '["sink.kafka-config"]\npartition-num = 5',
        '[sink]\n"kafka-config.codec-config" = {max-batch-size = 1}',
    ],
)
def test_a_quoted_key_that_looks_like_a_table_is_unknown(toml: str) -> None:
    feed = load(URI, toml)
    (warning,) = feed.warnings

    assert "unknown key '" in warning and "is ignored" in warning
    assert load(URI).kafka == feed.kafka == Kafka(("127.0.0.1:9092",))
    assert (False, 16) == (feed.force_replicate, feed.codec.max_batch_size)
