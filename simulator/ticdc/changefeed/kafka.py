"""The Kafka settings of a changefeed, checked as TiCDC checks them when the sink starts.

Order, codes and texts are those of pkg/sink/kafka/options.go (before 7.0 cdc/sink/**/producer/kafka).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from simulator import limits
from simulator.errors import ChangefeedError, uri_without_secrets
from simulator.releases import Release
from simulator.ticdc.changefeed import toml_file
from simulator.ticdc.changefeed.keys import OAUTH, SASL
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings

INVALID = "CDC:ErrKafkaInvalidConfig"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT = "10s"


@dataclass(frozen=True)
class Sasl:
    """SASL settings; an empty `mechanism` means that SASL is off."""

    mechanism: str = ""
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER."""

    user: str = ""
    password: str = field(default="", repr=False)
    gssapi_service_name: str = ""
    oauth_client_id: str = ""
    oauth_client_secret: str = field(default="", repr=False)
    """Decoded from the base64 of the file."""

    oauth_token_url: str = ""
    oauth_scopes: tuple[str, ...] = ()
    oauth_grant_type: str = "client_credentials"
    oauth_audience: str = ""


@dataclass(frozen=True)
class Tls:
    """TLS settings; without files the operating system's certificates are trusted."""

    enabled: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    insecure_skip_verify: bool = False
    asked_by: str = ""
    """The settings that request TLS although it is off and enable-tls=false is not written."""


@dataclass(frozen=True)
class Kafka:
    """Kafka's address and the settings of its client."""

    brokers: tuple[str, ...]
    """`host:port` of each broker."""

    partition_num: int | None = None
    """The configured number. None uses all partitions of the topic, or creates it with `new_topic_partitions`."""

    replication_factor: int = 1
    auto_create_topic: bool = True
    required_acks: int = -1
    compression: str = "none"
    """none, gzip, snappy, lz4 or zstd."""

    client_id: str = "TiCDC_producer_127.0.0.1_8300_default_ticdc-sim"
    dial_timeout: float = 10.0
    """Seconds, as the other timeouts."""

    write_timeout: float = 10.0
    read_timeout: float = 10.0
    sasl: Sasl = Sasl()
    tls: Tls = Tls()
    new_topic_partitions: int = 3
    """Partitions of a topic that TiCDC creates without `partition-num`."""

    partition_num_limits: bool = True
    """Whether a default topic with more partitions than `partition-num` is used up to that number."""

    topic_limit: str = "lowers"
    """What happens if a topic accepts less than max-message-bytes, as in `Codec.topic_limit`."""

    topic_limit_margin: int = 128
    """How many bytes max-message-bytes stays below the topic's limit."""

    checks_insync_replicas: str = "all"
    """For which topics a replication-factor below min.insync.replicas is refused: `all`, `created` or `none`."""

    one_error_code: bool = False
    """Whether TiCDC has one code for all invalid Kafka settings, and one for all refusals by brokers."""

    @property
    def partitions(self) -> int:
        """Partitions of a topic that does not exist yet."""
        return self.partition_num or self.new_topic_partitions

    def partition_count(self, number: int | None, actual: int, topic: str = "") -> int:
        """Return how many partitions to use of a topic that has `actual`: the first `number`, or all.

        Raise ChangefeedError if there are fewer than `number` (`SetPartitionNum`, tiflow v8.5.3
        pkg/sink/kafka/options.go).
        """
        if number is not None and number > actual:
            text = (
                f"the number of partition ({number}) specified in sink-uri is more than that of actual topic ({actual})"
            )
            code = "CDC:ErrKafkaInvalidConfig" if self.one_error_code else "CDC:ErrKafkaInvalidPartitionNum"
            raise ChangefeedError(text + (f": {topic}" if topic else ""), code)
        return (number or actual) if self.partition_num_limits else actual


def topic(settings: ChangefeedSettings) -> str:
    """Return the default topic, the URI's path; raise ChangefeedError (CDC:ErrKafkaInvalidConfig) without one."""
    name = settings.uri.topic
    if not name:
        text = "no topic is specified in sink-uri; accepted: kafka://host:port[,host:port]/topic?…"
        raise ChangefeedError(text, INVALID)
    return require_topic(name)


def require_topic(name: str) -> str:
    """Return the name of a topic; raise ChangefeedError if Kafka has none of that name."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name) or name in (".", ".."):
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        raise ChangefeedError(
            f"topic {shown!r}: Kafka takes letters, digits, '.', '_' and '-', at most 249 of them, and neither . nor .."
        )
    return name


def kafka(settings: ChangefeedSettings) -> Kafka:
    """Return the Kafka settings; raise ChangefeedError if TiCDC rejects them."""
    partitions, release = settings.get("partition-num"), settings.release
    if partitions == 0 and not release.refuses_zero_partitions:
        partitions = None
    if isinstance(partitions, int) and partitions <= 0:
        text = f"invalid partition num {partitions}; 1 or more is accepted"
        raise ChangefeedError(text, _code(release, "CDC:ErrKafkaInvalidPartitionNum"))
    if isinstance(partitions, int) and partitions > limits.PARTITIONS:
        raise ChangefeedError(f"partition-num {partitions}: at most {limits.PARTITIONS:,} are accepted by ticdc-sim")
    factor = settings.number("replication-factor", 1)
    if release.refuses_zero_timeouts and factor <= 0:
        raise ChangefeedError(f"invalid replication-factor {factor}; 1 or more is accepted", INVALID)
    client_id = settings.text("kafka-client-id", Kafka.client_id)
    if not re.fullmatch(r"[A-Za-z0-9._-]+", client_id):
        shown = toml_file.quote(client_id) if release.one_kafka_code else f"'{client_id}'"
        raise ChangefeedError(f"invalid kafka client ID {shown}", _code(release, "CDC:ErrKafkaInvalidClientID"))
    dial, write, read = (_timeout(settings, f"{name}-timeout") for name in ("dial", "write", "read"))
    acks = settings.number("required-acks", -1)
    if acks not in (-1, 0, 1):
        accepted = "only support these values: 0(NoResponse),1(WaitForLocal) and -1(WaitForAll)"
        if release.one_kafka_code:
            accepted = accepted.replace(",", ", ")
        code = _code(release, "CDC:ErrKafkaInvalidRequiredAcks")
        raise ChangefeedError(f"invalid required acks {acks}, {accepted}", code)
    compression = settings.text("compression", "none").strip().lower()
    kafka_settings = Kafka(
        brokers=_brokers(settings),
        partition_num=partitions if isinstance(partitions, int) else None,
        replication_factor=factor,
        auto_create_topic=settings.boolean("auto-create-topic", True),
        required_acks=acks,
        compression=compression if compression in COMPRESSIONS else "none",
        client_id=client_id,
        dial_timeout=dial,
        write_timeout=write,
        read_timeout=read,
        sasl=sasl(settings),
        tls=tls(settings),
        new_topic_partitions=release.new_topic_partitions,
        partition_num_limits=release.partition_num_limits,
        topic_limit=release.topic_limit,
        topic_limit_margin=release.topic_limit_margin,
        checks_insync_replicas=release.checks_insync_replicas,
        one_error_code=release.one_kafka_code,
    )
    check_client(settings, kafka_settings)
    _check_replicas(kafka_settings)
    return kafka_settings


def warnings(kafka: Kafka) -> Iterator[str]:
    """Yield a warning for settings that Kafka itself rejects."""
    if kafka.replication_factor < 1:
        factor = kafka.replication_factor
        yield f"replication-factor {factor}: Kafka creates no topic with that; 1 or more is accepted"


def _check_replicas(kafka: Kafka) -> None:
    # Kafka's min.insync.replicas is 1 at least
    if kafka.checks_insync_replicas != "none" and kafka.required_acks == -1 and kafka.replication_factor < 1:
        raise ChangefeedError(
            "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
            f"`replication-factor` {kafka.replication_factor} is smaller than the `min.insync.replicas`; "
            "1 or more is accepted",
            INVALID,
        )


def _brokers(settings: ChangefeedSettings) -> tuple[str, ...]:
    if not settings.uri.brokers:
        raise ChangefeedError("no Kafka broker in sink-uri; accepted: kafka://host:port[,host:port]/topic?…")
    return settings.uri.brokers


def _timeout(settings: ChangefeedSettings, name: str) -> float:
    try:
        seconds = toml_file.parse_duration(settings.text(name, TIMEOUT))
    except ValueError as error:
        text = f"{name}: {error}; accepted: a duration such as 10s"
        raise ChangefeedError(text, INVALID) from error
    if settings.release.refuses_zero_timeouts and seconds <= 0:
        raise ChangefeedError(f"{name} must be greater than zero", INVALID)
    return seconds


def _code(release: Release, own: str) -> str:
    """TiCDC's code for a setting that has one of its own in most releases."""
    return INVALID if release.one_kafka_code else own


SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "GSSAPI", "OAUTHBEARER")
FILE = "sink.kafka-config"


def tls(settings: ChangefeedSettings) -> Tls:
    """Return the TLS settings. Certificate files turn TLS on; up to 6.0, without enable-tls, `ca` alone does."""
    tls_settings = _tls(settings)
    is_explicit = tls_settings.enabled or settings.get("enable-tls") is False
    return tls_settings if is_explicit else replace(tls_settings, asked_by=_requested_by(settings))


def _requested_by(settings: ChangefeedSettings) -> str:
    files = [name for name in ("ca", "cert", "key") if settings.text(name)]
    scheme = ["the scheme kafka+ssl"] if settings.uri.scheme == "kafka+ssl" else []
    return ", ".join((*scheme, *files, *(["insecure-skip-verify"] if settings.boolean("insecure-skip-verify") else [])))


def _tls(settings: ChangefeedSettings) -> Tls:
    ca, cert, key = files = [settings.text(name) for name in ("ca", "cert", "key")]
    if not settings.release.has("?enable-tls"):
        return Tls(bool(ca), ca, cert, key)
    if any(files) and not all(files):
        raise _invalid("ca, cert and key files should all be supplied")
    enable_tls = settings.get("enable-tls")
    if all(files) and enable_tls is False:
        raise _invalid("credential files are supplied, but 'enable-tls' is set to false")
    enabled = bool(enable_tls) or (enable_tls is None and all(files))
    return Tls(enabled, ca, cert, key, enabled and settings.boolean("insecure-skip-verify"))


def sasl(settings: ChangefeedSettings) -> Sasl:
    """Return the SASL settings. SASL is off without a mechanism, up to 6.0 without a user."""
    mechanism, auth_type = settings.text("sasl-mechanism"), settings.text("sasl-gssapi-auth-type").lower()
    if not settings.release.has("?sasl-gssapi-auth-type"):
        return _scram(settings, mechanism.upper())
    mechanisms = MECHANISMS if settings.release.has(f"{FILE}.sasl-oauth-client-id") else MECHANISMS[:-1]
    if mechanism and mechanism.upper() not in mechanisms:
        raise _invalid(f"unknown {mechanism} SASL mechanism; accepted: {', '.join(mechanisms)}")
    if auth_type not in ("", "user", "keytab"):
        raise _invalid(f"unknown {auth_type} auth type; accepted: user, keytab")
    client_id, secret, token_url = (_oauth(settings, name) for name in ("client-id", "client-secret", "token-url"))
    if client_id or secret or token_url:
        _check_oauth(mechanism.upper(), client_id, secret, token_url)
    scopes = settings.file_value(FILE, "sasl-oauth-scopes")
    return Sasl(
        mechanism=mechanism.upper(),
        user=settings.text("sasl-user"),
        password=settings.text("sasl-password"),
        gssapi_service_name=settings.text("sasl-gssapi-service-name"),
        oauth_client_id=client_id,
        oauth_client_secret=secret,
        oauth_token_url=token_url,
        oauth_scopes=tuple(map(str, scopes)) if isinstance(scopes, list) else (),
        oauth_grant_type=str(settings.file_value(FILE, "sasl-oauth-grant-type") or "client_credentials"),
        oauth_audience=str(settings.file_value(FILE, "sasl-oauth-audience") or ""),
    )


def _scram(settings: ChangefeedSettings, mechanism: str) -> Sasl:
    # a user turns SASL on (tiflow v6.0.0: cdc/sink/producer/kafka/config.go completeSaramaSASLConfig)
    user, password = settings.text("sasl-user"), settings.text("sasl-password")
    if user and mechanism not in SCRAM:
        raise ChangefeedError("Unsupported sasl-mechanism, should be SCRAM-SHA-256 or SCRAM-SHA-512")
    return Sasl(mechanism, user, password) if user else Sasl()


def check_client(settings: ChangefeedSettings, kafka: Kafka) -> None:
    """Raise ChangefeedError for settings that TiCDC's Kafka client rejects (github.com/IBM/sarama config.go)."""
    sasl = kafka.sasl
    timeouts = {"DialTimeout": kafka.dial_timeout, "ReadTimeout": kafka.read_timeout}
    for name, seconds in {**timeouts, "WriteTimeout": kafka.write_timeout}.items():
        if seconds <= 0:
            raise _refused(settings, f"Net.{name} must be > 0")
    if sasl.mechanism in ("PLAIN", *SCRAM):
        for name, value in (("User", sasl.user), ("Password", sasl.password)):
            if not value:
                text = f"Net.SASL.{name} must not be empty when SASL is enabled"
                raise _refused(settings, text, f"; give sasl-{name.lower()}")
    if sasl.mechanism == "GSSAPI":
        _check_gssapi(settings)


def _check_gssapi(settings: ChangefeedSettings) -> None:
    kind = settings.text("sasl-gssapi-auth-type").lower()
    secret = {"user": ("Password", "password"), "keytab": ("KeyTabPath", "keytab-path")}.get(kind)
    rest = (("KerberosConfigPath", "kerberos-config-path"), ("Username", "user"), ("Realm", "realm"))
    for needed in (("ServiceName", "service-name"), secret, *rest):
        if needed is None:
            accepted = "; sasl-gssapi-auth-type may be user or keytab"
            raise _refused(settings, "Net.SASL.GSSAPI.AuthType is invalid", accepted)
        if not settings.text(f"sasl-gssapi-{needed[1]}"):
            text = f"Net.SASL.GSSAPI.{needed[0]} must not be empty when GSS-API mechanism is used"
            raise _refused(settings, text, f"; give sasl-gssapi-{needed[1]}")


def security_warnings(settings: ChangefeedSettings, sasl: Sasl, tls: Tls) -> Iterator[str]:
    """Yield a warning for each security setting without effect under the others."""
    if settings.uri.scheme == "kafka+ssl" and not tls.enabled:
        yield "the scheme kafka+ssl does not turn TLS on, in TiCDC neither: enable-tls=true does"
    if settings.boolean("insecure-skip-verify") and not tls.enabled:
        yield "insecure-skip-verify has no effect: TLS is off"
    values = {
        name: settings.file_value(FILE, name) if name in OAUTH else settings.get(name) for name in (*SASL, *OAUTH)
    }
    for name in (name for name, value in values.items() if value not in (None, "", [])):
        if why := _no_effect(name, settings, sasl):
            yield f"{name} has no effect: {why}"


def _no_effect(name: str, settings: ChangefeedSettings, sasl: Sasl) -> str:
    """Return why a SASL setting has no effect; empty if it has one."""
    if not sasl.mechanism:
        return f"{'sasl-user' if settings.text('sasl-mechanism') else 'sasl-mechanism'} is not set"
    if name.startswith("sasl-gssapi-") and sasl.mechanism != "GSSAPI":
        return f"sasl-mechanism is {sasl.mechanism}, not GSSAPI"
    if name.startswith("sasl-gssapi-") and name != "sasl-gssapi-service-name":
        return "this simulator uses the ticket that kinit got"
    if name in OAUTH and sasl.mechanism != "OAUTHBEARER":
        return f"sasl-mechanism is {sasl.mechanism}, not OAUTHBEARER"
    if name in ("sasl-user", "sasl-password") and sasl.mechanism in ("GSSAPI", "OAUTHBEARER"):
        return f"sasl-mechanism {sasl.mechanism} does not use it"
    return ""


def _oauth(settings: ChangefeedSettings, name: str) -> str:
    value = settings.file_value(FILE, f"sasl-oauth-{name}")
    what = name.replace("-", " ").replace("url", "URL").replace("client id", "client ID")
    if value == "":
        raise _invalid(f"OAuth2 {what} cannot be empty")
    if value is None or name != "client-secret":
        return str(value or "")
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise _invalid("OAuth2 client secret is not base64 encoded") from error


def _check_token_url(token_url: str) -> None:
    try:
        scheme, host = urlsplit(token_url).scheme, urlsplit(token_url).hostname
    except ValueError:
        scheme, host = "", None
    if scheme not in ("http", "https") or not host:
        raise _invalid(f"OAuth2 token URL {uri_without_secrets(token_url)!r} is none; accepted: http://… and https://…")


def _check_oauth(mechanism: str, client_id: str, secret: str, token_url: str) -> None:
    if mechanism != "OAUTHBEARER":
        raise _invalid(f"OAuth2 is only supported with SASL mechanism type OAUTHBEARER, but got {mechanism}")
    for value, what in ((client_id, "client id"), (secret, "client secret"), (token_url, "token url")):
        if not value:
            raise _invalid(f"OAuth2 {what} is empty")
    _check_token_url(token_url)


def _refused(settings: ChangefeedSettings, text: str, hint: str = "") -> ChangefeedError:
    return ChangefeedError(f"kafka: invalid configuration ({text}){hint}", settings.release.client_error)


def _invalid(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")
