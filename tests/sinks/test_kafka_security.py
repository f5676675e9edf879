"""Delivery to and reading from a real Kafka that demands security, and every mistake that can be made in it.

One broker whose listeners ask for TLS, for client certificates, for SASL. Every certificate is made anew and belongs to
nobody; the user below is the only one.
"""

from __future__ import annotations

import datetime
import pickle
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote_plus

import pyarrow as pa
import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from support.kafka_fixture import require_kafka_jars
from support.scripted_servers import Answer, granted, identity_provider, unsigned

from simulator.broker import kafka_jars, properties
from simulator.broker.java import READY_WITHIN, find_java, free_port
from simulator.cli import run
from simulator.errors import DeliveryError
from simulator.run import outputs
from simulator.sinks import SINKS
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import is_answering, prepare_topics
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.records import Records
from simulator.ticdc import changefeed

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

USER, PASSWORD = "ada", "open sesame &+=% co"

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Of both listeners that ask for SASL; `sasl` takes OAUTHBEARER, too, with tokens that nobody signed."""

PROTOCOLS = {
    "plain": "PLAINTEXT",
    "tls": "SSL",
    "mtls": "SSL",
    "expired": "SSL",
    "elsewhere": "SSL",
    "sasl": "SASL_PLAINTEXT",
    "sasl_tls": "SASL_SSL",
}
"""The listeners."""


class Secured:
    """The broker, whose files lie under `home`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.addresses = {name: f"127.0.0.1:{free_port()}" for name in PROTOCOLS}
        authority = trustme.CA()
        authority.cert_pem.write_to_path(home / "ca.pem")
        trustme.CA().cert_pem.write_to_path(home / "stranger.pem")
        for name, issuer in (("client", authority), ("stray", trustme.CA())):
            issued = issuer.issue_cert(f"{name}@example.com")
            issued.private_key_pem.write_to_path(home / f"{name}.key")
            issued.cert_chain_pems[0].write_to_path(home / f"{name}.pem")
        (home / "server.properties").write_text(self._properties(authority), "ascii")

    def uri(self, listener: str, topic: str, words: str) -> str:
        """The topic's URI, as sink-uri and `inspect` take it; words in capitals stand for parameters."""
        ca, stranger, cert, key, stray = (
            self._home / name for name in ("ca.pem", "stranger.pem", "client.pem", "client.key", "stray")
        )
        parameters = {
            "TLS": f"ca={ca}&cert={cert}&key={key}",
            "LAX": "enable-tls=true&insecure-skip-verify=true",
            "STRANGER": f"ca={stranger}&cert={cert}&key={key}",
            "STRAY": f"ca={ca}&cert={stray}.pem&key={stray}.key",
            "LOGIN": f"sasl-user={USER}&sasl-password={quote_plus(PASSWORD)}",
            "WRONG": f"sasl-user={USER}&sasl-password=guessed",
        }
        given = "&".join(("protocol=open-protocol", *(parameters.get(word, word) for word in words.split())))
        return f"kafka://{self.addresses[listener]}/{topic}?{given}"

    @contextmanager
    def running(self) -> Iterator[Secured]:
        java = find_java("Kafka")
        command = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars(java)}/*"]
        format = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", "server.properties"]
        for mechanism in MECHANISMS[1:]:
            format += ["--add-scram", f'{mechanism}=[name="{USER}",password="{PASSWORD}"]']
        subprocess.run([*command, *format], cwd=self._home, check=True, capture_output=True)
        log = self._home / "broker.log"
        with log.open("wb") as out:
            serve = [*command, "kafka.Kafka", "server.properties"]
            process = subprocess.Popen(serve, cwd=self._home, stdout=out, stderr=out)
        try:
            end = time.monotonic() + READY_WITHIN
            while not is_answering(self.addresses["plain"]):
                assert process.poll() is None and time.monotonic() < end, log.read_text("utf-8")[-3000:]
                time.sleep(0.2)
            yield self
        finally:
            process.terminate()
            process.wait()

    def _properties(self, authority: trustme.CA) -> str:
        yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        good = self._store("server", authority.issue_cert("127.0.0.1"))
        stores = dict.fromkeys(("tls", "mtls", "sasl_tls"), good)
        stores["expired"] = self._store("expired", authority.issue_cert("127.0.0.1", not_after=yesterday))
        stores["elsewhere"] = self._store("elsewhere", authority.issue_cert("kafka.example.com"))
        controller, port = free_port(), int(self.addresses["plain"].partition(":")[2])
        every = ",".join(f"{name.upper()}://{address}" for name, address in self.addresses.items())
        lines = [
            properties(port, controller, self._home / "data"),
            f"listeners=CONTROLLER://127.0.0.1:{controller},{every}",
            f"advertised.listeners={every}",
            "inter.broker.listener.name=PLAIN",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,"
            + ",".join(f"{name.upper()}:{protocol}" for name, protocol in PROTOCOLS.items()),
            f"sasl.enabled.mechanisms={','.join(MECHANISMS)}",
            f"listener.name.sasl.sasl.enabled.mechanisms={','.join((*MECHANISMS, 'OAUTHBEARER'))}",
            "listener.name.sasl.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer."
            'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
            "listener.name.mtls.ssl.client.auth=required",
            f"listener.name.mtls.ssl.truststore.location={self._home / 'ca.pem'}",
            "listener.name.mtls.ssl.truststore.type=PEM",
        ]
        for name, store in stores.items():
            lines += [
                f"listener.name.{name}.ssl.keystore.type=PEM",
                f"listener.name.{name}.ssl.keystore.location={store}",
            ]
        for name in ("sasl", "sasl_tls"):
            for mechanism in MECHANISMS:
                users = f' user_{USER}="{PASSWORD}"' if mechanism == "PLAIN" else ""
                module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
                place = f"listener.name.{name}.{mechanism.lower()}.sasl.jaas.config"
                lines.append(f"{place}=org.apache.kafka.common.security.{module} required{users};")
        return "\n".join(lines) + "\n"

    def _store(self, name: str, issued: trustme.LeafCert) -> Path:
        """Kafka's PEM key store: a PKCS #8 key, and the chain of certificates."""
        key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
        formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path = self._home / f"{name}.store"
        path.write_bytes(key.private_bytes(*formats) + b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        return path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    require_kafka_jars()
    with Secured(tmp_path_factory.mktemp("secured")).running() as running:
        yield running


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
    uri = secured.uri(listener, topic, words)
    ready = prepare_topics(outputs.kafka_settings(changefeed.load(uri)), {topic: 1}).settings
    sink = SINKS["kafka"](ready, [topic])
    place = pa.array([0], pa.int32())
    sink.write(Records(place, place, pa.array([b"k"]), pa.array([b"hello"]), pa.array([7])))
    (account,) = sink.close()
    code = run(["inspect", "--raw", uri])

    assert (account.records, account.error) == (1, None)
    assert (code, capsys.readouterr()) == (0, (f"{topic}/0@0 KEY k VALUE hello\n", ""))


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
    code = run(["inspect", secured.uri(listener, "shop", f"{words} dial-timeout=60s")])
    out, error = capsys.readouterr()

    assert (code, out) == (2, "")
    assert text.replace("ADDRESS", secured.addresses[listener]) in error
    assert error.count("\n") == 1 and "guessed" not in error


def test_a_missing_client_certificate_is_named_however_tls_13_tells_it(secured: Secured) -> None:
    """Its alert comes after the handshake and may be lost behind the first question."""
    settings = outputs.kafka_settings(changefeed.load(secured.uri("mtls", "shop", "LAX")))
    kinds = set()
    for _ in range(8):
        with pytest.raises(Exception, match="asks for a client certificate: give cert and key") as caught:
            with_reachable_broker(settings)
        kinds.add(type(caught.value).__name__)

    assert kinds == {"UserError"}


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
        feed = changefeed.load_file(secured.uri("sasl", "tokens", ""), config(tmp_path, provider.url))
        ready = prepare_topics(outputs.kafka_settings(feed), {"tokens": 1})

    assert ready.partitions == {"tokens": 1}


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
        ended = run([*command, "--sink-uri", secured.uri("sasl", "shop", "")])

    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("ticdc-sim: "))
    assert ended == code and text in line


def test_a_mechanism_that_the_broker_lacks_is_refused_with_those_it_has(
    secured: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff` ends before Spark is started."""
    command = ["diff", *snapshots(tmp_path), "--config", str(config(tmp_path, "http://127.0.0.1:1/"))]
    code = run([*command, "--sink-uri", secured.uri("sasl_tls", "shop", "LAX")])

    assert code == 2
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
    """`diff`, then `inspect`. The settings reach Spark's tasks as they are."""
    uri = secured.uri("sasl_tls", "whole", "TLS LOGIN sasl-mechanism=SCRAM-SHA-512")
    summary = tmp_path / "all.json"
    code = run(["diff", *snapshots(tmp_path), "--sink-uri", uri, "--master", "none", "--summary", str(summary)])
    sent = capsys.readouterr()
    read = run(["inspect", uri])

    assert (code, read) == (0, 0)
    assert ["INSERT shop.t id=2"] == [
        line.partition("Z ")[2] for line in capsys.readouterr().out.splitlines() if "WATERMARK" not in line
    ]
    written = sent.out + sent.err + summary.read_text()
    assert PASSWORD not in written and quote_plus(PASSWORD) not in written
    settings = outputs.kafka_settings(changefeed.load(uri))
    assert pickle.loads(pickle.dumps(settings)) == settings
