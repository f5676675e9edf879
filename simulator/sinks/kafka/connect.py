"""From settings to kafka-python's own options, and from its exceptions to one line.

Law: with the kafka_* modules beside it, the only place that imports kafka.
"""

from __future__ import annotations

import logging
import ssl
from importlib.util import find_spec

from kafka.errors import KafkaError

from simulator.errors import SimulatorError, UserError
from simulator.sinks.kafka.oauth import ClientCredentials
from simulator.sinks.kafka.settings import KafkaSettings, Security

Option = object
"""A value that kafka-python takes for an option: text, number, list of addresses, TLS context, token provider."""

NO_PASSPHRASE = ""
"""Without one OpenSSL would ask the terminal for that of an encrypted key; TiCDC takes none either."""

logging.getLogger("kafka").setLevel(logging.CRITICAL)
"""What it logs comes back as an exception or an acknowledgement; its lines would only break the progress display."""


def client_options(settings: KafkaSettings) -> dict[str, Option]:
    """The options that producer, consumer and admin client share."""
    return {
        "bootstrap_servers": list(settings.brokers),
        "client_id": settings.client_id,
        "bootstrap_timeout_ms": int(settings.dial_timeout * 1000),
        "reconnect_backoff_max_ms": 1000,
        **_security(settings.security, settings.read_timeout),
    }


EXTRAS = {"crc32c": "crc32c", "snappy": "snappy", "lz4": "lz4", "zstd": "zstandard"}
"""kafka-python's optional dependencies, by their module; gzip is Python's own."""


def require_packages(compression: str = "none") -> None:
    """Raises UserError where a package is missing: crc32c, without which kafka-python is eight times slower, or the
    one that compresses."""
    for extra in ("crc32c", compression):
        if extra in EXTRAS and find_spec(EXTRAS[extra]) is None:
            needed = "" if extra == "crc32c" else f"compression {compression} cannot be used: "
            raise UserError(
                f"{needed}the Python package {EXTRAS[extra]} is missing: pip install 'kafka-python[{extra}]'")


def reason(error: BaseException) -> str:
    """What went wrong, on one line, without kafka-python's error numbers."""
    if isinstance(error, SimulatorError) or isinstance(error, OSError) and error.strerror and error.errno:
        return str(getattr(error, "strerror", None) or error)
    text = " ".join(str(error).split())
    name = type(error).__name__
    if isinstance(error, KafkaError) and (not text or text.endswith("None")):
        return str(getattr(error, "description", "") or name)
    return f"{name}: {text}" if text and name not in text else text or name


def _security(security: Security, timeout: float) -> dict[str, Option]:
    protocol = ("SASL_" if security.sasl_mechanism else "") + ("SSL" if security.enable_tls else "PLAINTEXT")
    options: dict[str, Option] = {"security_protocol": protocol}
    if security.enable_tls:
        options["ssl_context"] = _tls(security)
        options["ssl_check_hostname"] = not security.insecure_skip_verify
    if security.sasl_mechanism:
        options.update(_sasl(security, timeout))
    return options


def _tls(security: Security) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=security.ca or None)
        if security.cert:
            context.load_cert_chain(security.cert, security.key or None, NO_PASSPHRASE)
    except OSError as error:
        files = ", ".join(name for name in (security.ca, security.cert, security.key) if name)
        raise UserError(f"the TLS files cannot be used ({files}): {error}") from error
    if security.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _sasl(security: Security, timeout: float) -> dict[str, Option]:
    mechanism = security.sasl_mechanism.upper()
    options: dict[str, Option] = {"sasl_mechanism": mechanism}
    if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        return options | {"sasl_plain_username": security.sasl_user, "sasl_plain_password": security.sasl_password}
    if mechanism == "GSSAPI":
        if find_spec("gssapi") is None:
            raise UserError("sasl-mechanism GSSAPI needs the Python package gssapi (and a ticket from kinit)")
        return options | {"sasl_kerberos_service_name": security.gssapi_service_name}
    if mechanism == "OAUTHBEARER" and security.oauth is not None:
        return options | {"sasl_oauth_token_provider": ClientCredentials(security.oauth, timeout)}
    known = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI, OAUTHBEARER with sasl-oauth-token-url"
    raise UserError(f"sasl-mechanism {security.sasl_mechanism!r} cannot be used: {known}")
