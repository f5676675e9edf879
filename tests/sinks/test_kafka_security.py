"""Delivery to and reading from a real Kafka that demands security, and every mistake that can be made in it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pyarrow as pa
import pytest
import trustme
from support.identity_provider import Answer, granted, identity_provider, unsigned
from support.secured_kafka import MECHANISMS, PASSWORD, USER, Secured, secured_kafka

from simulator.cli import run
from simulator.errors import DeliveryError
from simulator.run import outputs
from simulator.sinks import SINKS
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.records import Records
from simulator.ticdc import changefeed

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    home = tmp_path_factory.mktemp("secured")
    with secured_kafka(home) as broker:
        stray = trustme.CA().issue_cert("stray@example.com")
        stray.private_key_pem.write_to_path(home / "stray.key")
        stray.cert_chain_pems[0].write_to_path(home / "stray.pem")
        yield broker


def address(secured: Secured, listener: str, topic: str, words: str) -> str:
    """The topic's URI; words in capitals stand for parameters."""
    folder = Path(secured.ca).parent
    parameters = {
        "TLS": f"ca={secured.ca}&cert={secured.cert}&key={secured.key}",
        "LAX": "enable-tls=true&insecure-skip-verify=true",
        "STRANGER": f"ca={secured.stranger}&cert={secured.cert}&key={secured.key}",
        "STRAY": f"ca={secured.ca}&cert={folder / 'stray.pem'}&key={folder / 'stray.key'}",
        "LOGIN": f"sasl-user={USER}&sasl-password={quote_plus(PASSWORD)}",
        "WRONG": f"sasl-user={USER}&sasl-password=guessed",
    }
    return secured.uri(listener, topic, *(parameters.get(word, word) for word in words.split()))


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        ("plain", ""),
        ("tls", "TLS"),
        ("tls", "TLS enable-tls=1"),
        ("tls", "LAX"),
        ("mtls", "TLS"),
        ("expired", "LAX"),
        ("elsewhere", "LAX"),
        *(("sasl", f"LOGIN sasl-mechanism={mechanism}") for mechanism in MECHANISMS),
        *(("sasl_tls", f"LOGIN TLS sasl-mechanism={mechanism.lower()}") for mechanism in MECHANISMS),
        ("sasl_tls", "LOGIN LAX sasl-mechanism=SCRAM-SHA-256"),
    ],
)
def test_what_is_delivered_is_read_back_by_inspect(
    secured: Secured, listener: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same address for both."""
    topic = f"t-{uuid.uuid4()}"
    uri = address(secured, listener, topic, words)
    ready = prepare_topics(outputs.kafka_settings(changefeed.load(uri)), {topic: 1}).settings
    sink = SINKS["kafka"](ready, [topic])
    place = pa.array([0], pa.int32())
    sink.write(Records(place, place, pa.array([b"k"]), pa.array([b"hello"]), pa.array([7])))
    (account,) = sink.close()
    code = run(["inspect", "--raw", uri])

    assert (1, None) == (account.records, account.error)
    assert (0, (f"{topic}/0@0 KEY k VALUE hello\n", "")) == (code, capsys.readouterr())


MISTAKES = [
    ("tls", "", "speaks TLS on this port: give enable-tls=true"),
    ("sasl_tls", "LOGIN sasl-mechanism=PLAIN", "speaks TLS on this port: give enable-tls=true"),
    ("plain", "TLS", "speaks no TLS on this port: leave out enable-tls"),
    ("sasl", "LAX LOGIN sasl-mechanism=PLAIN", "speaks no TLS on this port: leave out enable-tls"),
    ("tls", "STRANGER", "is not trusted (unable to get local issuer certificate): give the authority"),
    ("tls", "enable-tls=true", "is not trusted (unable to get local issuer certificate): give the authority"),
    ("expired", "TLS", "the certificate of Kafka at ADDRESS has expired"),
    ("elsewhere", "TLS", "is not for this host: IP address mismatch, certificate is not valid for '127.0.0.1'"),
    ("mtls", "LAX", "asks for a client certificate: give cert and key"),
    ("mtls", "STRAY", "does not take the client certificate "),
    ("sasl", "", "asks for SASL: give sasl-mechanism (PLAIN, SCRAM-SHA-"),
    ("sasl_tls", "LAX", "asks for SASL: give sasl-mechanism (PLAIN, SCRAM-SHA-"),
    ("plain", "LOGIN sasl-mechanism=PLAIN", "takes no SASL on this port: leave out sasl-mechanism"),
    *(
        (listener, f"WRONG {tls} sasl-mechanism={mechanism}", f"authentication failed for user 'ada' ({mechanism}): ")
        for mechanism in MECHANISMS
        for listener, tls in (("sasl", ""), ("sasl_tls", "TLS"))
    ),
]


@pytest.mark.parametrize(("listener", "words", "text"), MISTAKES)
def test_a_mistake_is_named_at_once(
    secured: Secured, listener: str, words: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line with exit code 2, without Kafka being asked again, and without the password."""
    code = run(["inspect", address(secured, listener, "shop", f"{words} dial-timeout=60s")])
    out, error = capsys.readouterr()

    assert (2, "") == (code, out)
    assert text.replace("ADDRESS", secured.addresses[listener]) in error
    assert 1 == error.count("\n") and "guessed" not in error


def test_a_missing_client_certificate_is_named_however_tls_13_tells_it(secured: Secured) -> None:
    """Its alert comes after the handshake and may be lost behind the first question."""
    settings = outputs.kafka_settings(changefeed.load(address(secured, "mtls", "shop", "LAX")))
    kinds = set()
    for _ in range(20):
        with pytest.raises(Exception, match="asks for a client certificate: give cert and key") as caught:
            with_reachable_broker(settings)
        kinds.add(type(caught.value).__name__)

    assert {"UserError"} == kinds


def snapshots(folder: Path) -> list[str]:
    """Two of them, one row apart."""
    for name, rows in (("before", "1\n"), ("after", "1\n2\n")):
        (folder / name).mkdir()
        (folder / name / "shop.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);")
        (folder / name / "shop.t.csv").write_text(rows)
    return [str(folder / "before"), str(folder / "after")]


def config(folder: Path, token_url: str) -> Path:
    """A changefeed.toml with OAuth, whose secret is `secret`."""
    (folder / "feed.toml").write_text(
        "[sink.kafka-config]\nsasl-mechanism = 'OAUTHBEARER'\nsasl-oauth-client-id = 'me'\n"
        f"sasl-oauth-client-secret = 'c2VjcmV0'\nsasl-oauth-token-url = '{token_url}'\n"
    )
    return folder / "feed.toml"


def test_a_token_lets_a_client_in(secured: Secured, tmp_path: Path) -> None:
    """SASL OAUTHBEARER."""
    with identity_provider(granted(unsigned("ada"))) as provider:
        feed = changefeed.load_file(address(secured, "sasl", "tokens", ""), config(tmp_path, provider.url))
        ready = prepare_topics(outputs.kafka_settings(feed), {"tokens": 1})

    assert {"tokens": 1} == ready.partitions


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        (granted("junk"), 2, "authentication failed (OAUTHBEARER): "),
        ((401, b'{"error": "invalid_client"}'), 2, "no token: 401 Unauthorized: invalid_client"),
        ((503, b""), 3, "no token: 503 Service Unavailable"),
    ],
)
def test_a_token_that_is_not_had_or_not_taken_is_one_line(
    secured: Secured, tmp_path: Path, answer: Answer, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff` ends before Spark is started."""
    with identity_provider(answer) as provider:
        command = ["diff", *snapshots(tmp_path), "--config", str(config(tmp_path, provider.url))]
        ended = run([*command, "--sink-uri", address(secured, "sasl", "shop", "")])

    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("ticdc-sim: "))
    assert code == ended and text in line


def test_a_mechanism_that_the_broker_lacks_is_refused_with_those_it_has(
    secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff` ends before Spark is started."""
    command = ["diff", *snapshots(tmp_path), "--config", str(config(tmp_path, "http://127.0.0.1:1/"))]
    code = run([*command, "--sink-uri", address(secured, "sasl_tls", "shop", "LAX")])

    assert 2 == code
    assert "does not take sasl-mechanism OAUTHBEARER: it takes PLAIN, SCRAM-SHA-" in capsys.readouterr().err


@pytest.mark.parametrize("away", ["127.0.0.1:1", "nowhere.invalid:9092"])
def test_a_broker_that_is_away_does_not_matter_where_another_answers(secured: Secured, away: str) -> None:
    """Nor does a client have to try it."""
    brokers = (away, secured.addresses["plain"])
    settings = KafkaSettings(brokers)

    assert brokers[1:] == with_reachable_broker(settings).brokers
    assert {"anew": 1} == prepare_topics(KafkaSettings(brokers), {"anew": 1}).partitions


def test_brokers_that_are_all_away_are_no_mistake_but_a_failed_delivery() -> None:
    """Exit code 3."""
    with pytest.raises(DeliveryError, match="Kafka at 127.0.0.1:1,127.0.0.1:2 does not answer: Connection refused"):
        with_reachable_broker(KafkaSettings(("127.0.0.1:1", "127.0.0.1:2")))


@pytest.mark.parametrize("parameters", ["", "enable-tls=true"])
def test_a_server_that_is_silent_is_asked_once(parameters: str) -> None:
    """No mistake is looked for where nothing is said within dial-timeout."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"kafka://127.0.0.1:{server.getsockname()[1]}/t?protocol=canal-json&dial-timeout=200ms&{parameters}"
        with pytest.raises(DeliveryError, match="does not answer: .*timed out"):
            with_reachable_broker(outputs.kafka_settings(changefeed.load(uri)))
        server.accept()[0].close()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_whole_run_over_tls_with_scram(secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`diff` by Spark's tasks, then `inspect`."""
    uri = address(secured, "sasl_tls", "whole", "TLS LOGIN sasl-mechanism=SCRAM-SHA-512")
    summary = tmp_path / "all.json"
    code = run(["diff", *snapshots(tmp_path), "--sink-uri", uri, "--master", "local[1]", "--summary", str(summary)])
    sent = capsys.readouterr()
    read = run(["inspect", uri])

    assert (0, 0) == (code, read)
    assert ["INSERT shop.t id=2"] == [
        line.partition("Z ")[2] for line in capsys.readouterr().out.splitlines() if "WATERMARK" not in line
    ]
    written = sent.out + sent.err + summary.read_text()
    assert PASSWORD not in written and quote_plus(PASSWORD) not in written
