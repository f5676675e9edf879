"""A real Apache Kafka that demands security: one broker whose listeners ask for TLS, for client certificates, for SASL.

Every certificate is made anew and belongs to nobody; the users below are the only ones.
"""

from __future__ import annotations

import datetime
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

from simulator.broker import jars as broker_jars
from simulator.broker import server as broker
from simulator.broker.jars import find_java
from simulator.broker.processes import free_port
from simulator.broker.server import properties
from simulator.sinks.kafka.admin import is_answering
from support.kafka_fixture import require_kafka_jars

USER, PASSWORD = "ada", "open sesame &+=% co"

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Of both listeners that ask for SASL; `sasl` takes OAUTHBEARER, too, with tokens that nobody signed."""

PROTOCOLS = {
    "tls": "SSL",
    "mtls": "SSL",
    "expired": "SSL",
    "elsewhere": "SSL",
    "sasl": "SASL_PLAINTEXT",
    "sasl_tls": "SASL_SSL",
}
"""The listeners beside the plain one."""


@dataclass(frozen=True)
class Secured:
    """The broker's addresses by listener (`plain` and those of PROTOCOLS) and its certificates."""

    addresses: dict[str, str]
    ca: str
    cert: str
    """Of a client, signed by the authority that `mtls` trusts."""

    key: str
    stranger: str
    """Another authority, which signed nothing here."""

    def uri(self, listener: str, topic: str, *parameters: str) -> str:
        """The address of a topic, as sink-uri and `inspect` take it."""
        given = "&".join(("protocol=open-protocol", *parameters))
        return f"kafka://{self.addresses[listener]}/{topic}?{given}"


@contextmanager
def secured_kafka(home: Path) -> Iterator[Secured]:
    """The broker while it runs; its files lie under `home`."""
    require_kafka_jars()
    java = find_java("Kafka")
    classes = f"{broker_jars.kafka_jars(java)}/*"
    authority, stranger = trustme.CA(), trustme.CA()
    names = ("plain", *PROTOCOLS)
    addresses = {name: f"127.0.0.1:{free_port()}" for name in names}
    for name, text in {"ca": authority, "stranger": stranger}.items():
        text.cert_pem.write_to_path(home / f"{name}.pem")
    client = authority.issue_cert("client@example.com")
    client.private_key_pem.write_to_path(home / "client.key")
    client.cert_chain_pems[0].write_to_path(home / "client.pem")
    (home / "server.properties").write_text(_properties(home, authority, addresses), "ascii")
    format = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", "server.properties"]
    for mechanism in MECHANISMS[1:]:
        format += ["--add-scram", f'{mechanism}=[name="{USER}",password="{PASSWORD}"]']
    run = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes]
    subprocess.run([*run, *format], cwd=home, check=True, capture_output=True)
    with (home / "broker.log").open("wb") as log:
        process = subprocess.Popen([*run, "kafka.Kafka", "server.properties"], cwd=home, stdout=log, stderr=log)
    try:
        end = time.monotonic() + broker.READY_WITHIN
        while not is_answering(addresses["plain"]):
            assert process.poll() is None and time.monotonic() < end, (home / "broker.log").read_text("utf-8")[-3000:]
            time.sleep(0.2)
        files = (str(home / name) for name in ("ca.pem", "client.pem", "client.key", "stranger.pem"))
        yield Secured(addresses, *files)
    finally:
        process.terminate()
        process.wait()


def _properties(home: Path, authority: trustme.CA, addresses: dict[str, str]) -> str:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    stores = dict.fromkeys(("tls", "mtls", "sasl_tls"), _store(home / "server.pem", authority.issue_cert("127.0.0.1")))
    stores["expired"] = _store(home / "expired.pem", authority.issue_cert("127.0.0.1", not_after=yesterday))
    stores["elsewhere"] = _store(home / "elsewhere.pem", authority.issue_cert("kafka.example.com"))
    port = addresses["plain"].partition(":")[2]
    every = ",".join(f"{name.upper()}://{addresses[name]}" for name in PROTOCOLS)
    controller = free_port()
    lines = [
        properties(int(port), controller, home / "data"),
        f"listeners=PLAINTEXT://{addresses['plain']},CONTROLLER://127.0.0.1:{controller},{every}",
        f"advertised.listeners=PLAINTEXT://{addresses['plain']},{every}",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        + ",".join(f"{name.upper()}:{protocol}" for name, protocol in PROTOCOLS.items()),
        f"sasl.enabled.mechanisms={','.join(MECHANISMS)}",
        f"listener.name.sasl.sasl.enabled.mechanisms={','.join((*MECHANISMS, 'OAUTHBEARER'))}",
        "listener.name.sasl.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer."
        'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
        "listener.name.mtls.ssl.client.auth=required",
        f"listener.name.mtls.ssl.truststore.location={home / 'ca.pem'}",
        "listener.name.mtls.ssl.truststore.type=PEM",
    ]
    for name, store in stores.items():
        lines += [f"listener.name.{name}.ssl.keystore.type=PEM", f"listener.name.{name}.ssl.keystore.location={store}"]
    for name in ("sasl", "sasl_tls"):
        for mechanism in MECHANISMS:
            users = f' user_{USER}="{PASSWORD}"' if mechanism == "PLAIN" else ""
            module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
            place = f"listener.name.{name}.{mechanism.lower()}.sasl.jaas.config"
            lines.append(f"{place}=org.apache.kafka.common.security.{module} required{users};")
    return "\n".join(lines) + "\n"


def _store(path: Path, issued: trustme.LeafCert) -> Path:
    """Kafka's PEM key store: a PKCS #8 key, and the chain of certificates."""
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(text + b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    return path
