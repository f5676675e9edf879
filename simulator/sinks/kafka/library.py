"""kafka-python: all names of it that are used, its options with TLS, SASL and OAuth tokens, and its exceptions as one line.

No other module imports it. It is imported without its deprecation warnings, so that tests whose warnings are errors can
import the simulator first. Only http and https are opened as an OAuth endpoint, and redirections are not followed with the
secret.
"""

from __future__ import annotations

import base64
import json
import logging
import time
import urllib.request
import warnings
from http.client import HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode

from simulator.errors import DeliveryError, SimulatorError, UserError, uri_without_secrets
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.schema_registry import tls_context
from simulator.ticdc.changefeed import Sasl

with warnings.catch_warnings():
    # It reads its schemas by importlib.resources.read_text, which Python 3.11 and 3.12 call deprecated
    # (kafka-python 3.0.12: kafka/protocol/schemas/load_json.py).
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
    from kafka.errors import (
        AuthorizationError,
        BrokerResponseError,
        IllegalSaslStateError,
        IllegalStateError,
        InvalidPartitionsError,
        InvalidRecordError,
        InvalidTimestampError,
        InvalidTopicError,
        KafkaConnectionError,
        KafkaError,
        MessageSizeTooLargeError,
        NodeNotReadyError,
        NoError,
        RecordListTooLargeError,
        SaslAuthenticationFailedError,
        TopicAlreadyExistsError,
        UnknownError,
        UnknownTopicOrPartitionError,
        UnsupportedCompressionTypeError,
        for_code,
    )
    from kafka.future import Future
    from kafka.net.compat import KafkaNetClient
    from kafka.net.sasl import get_sasl_mechanism
    from kafka.net.sasl.oauth import AbstractTokenProvider
    from kafka.producer.producer_batch import ProducerBatch
    from kafka.protocol.broker_version_data import BrokerVersionData
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
    from kafka.protocol.parser import KafkaProtocol
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
    from kafka.record.memory_records import MemoryRecordsBuilder
    from kafka.structs import TopicPartition

Option = object
"""The value of an option of kafka-python: text, number, list of addresses, TLS context, token provider."""


logging.getLogger("kafka").setLevel(logging.CRITICAL)
"""What it logs comes back as an exception or an acknowledgement; its lines would only break the progress display."""


def client_options(settings: KafkaSettings) -> dict[str, Option]:
    """Return the options that producer, consumer and admin client share."""
    options: dict[str, Option] = {
        "bootstrap_servers": list(settings.brokers),
        "client_id": settings.client_id,
        "bootstrap_timeout_ms": int(settings.dial_timeout * 1000),
        "reconnect_backoff_max_ms": 1000,
        "security_protocol": settings.security_protocol,
    }
    if settings.tls.enabled:
        options["ssl_context"] = tls_context(settings.tls)
        options["ssl_check_hostname"] = not settings.tls.insecure_skip_verify
    return options | (_sasl(settings.sasl, settings.read_timeout) if settings.sasl.mechanism else {})


EXTRAS = {"crc32c": "crc32c", "snappy": "snappy", "lz4": "lz4", "zstd": "zstandard"}
"""kafka-python's optional dependencies, by their module; gzip is in Python."""


TESTED = "3.0.12"
"""The version of kafka-python whose private API was read."""


def require_packages(compression: str = "none") -> None:
    """Raise UserError if kafka-python is of another version, or the package of the compression or crc32c is missing.

    Without crc32c kafka-python is eight times slower.
    """
    if (installed := version("kafka-python")) != TESTED:
        raise UserError(
            f"kafka-python {installed} is installed, and {TESTED} is needed, as its internals are used: "
            f"pip install kafka-python=={TESTED}"
        )
    for extra in ("crc32c", compression):
        if extra in EXTRAS and find_spec(EXTRAS[extra]) is None:
            needed = "" if extra == "crc32c" else f"compression {compression} cannot be used: "
            raise UserError(
                f"{needed}the Python package {EXTRAS[extra]} is missing: pip install 'kafka-python[{extra}]'"
            )


def reason(error: BaseException) -> str:
    """Return an error on one line, without kafka-python's error numbers."""
    if isinstance(error, SimulatorError) or isinstance(error, OSError) and error.strerror and error.errno:
        return str(getattr(error, "strerror", None) or error)
    text = " ".join(str(error).split())
    name = type(error).__name__
    if isinstance(error, KafkaError) and (not text or text.endswith("None")):
        return str(getattr(error, "description", "") or name)
    return f"{name}: {text}" if text and name not in text else text or name


def broker_error(error: BrokerResponseError, message: str = "") -> str:
    """Return an error code in Kafka's spelling, with the broker's message or what the code means."""
    if isinstance(error, UnknownError) and error.errno != UnknownError.errno:  # a code that kafka-python does not know
        return f"error code {error.errno}{f': {message}' if message else ''}"
    return f"{type(error).__name__.removesuffix('Error')}: {message or error.description}".rstrip(".")


def failure(error: BaseException) -> str:
    """Return what is wrong with Kafka: that it does not answer, or which error it answers with."""
    if isinstance(error, BrokerResponseError):
        return f"answers with {broker_error(error)}"
    return f"does not answer: {reason(error)}"


def _sasl(sasl: Sasl, timeout: float) -> dict[str, Option]:
    mechanism = sasl.mechanism.upper()
    options: dict[str, Option] = {"sasl_mechanism": mechanism}
    if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        return options | {"sasl_plain_username": sasl.user, "sasl_plain_password": sasl.password}
    if mechanism == "GSSAPI":
        if find_spec("gssapi") is None:
            raise UserError("sasl-mechanism GSSAPI needs the Python package gssapi (and a ticket from kinit)")
        return options | {"sasl_kerberos_service_name": sasl.gssapi_service_name or "kafka"}
    if mechanism == "OAUTHBEARER" and sasl.oauth_client_id:
        return options | {"sasl_oauth_token_provider": ClientCredentials(sasl, timeout)}
    accepted = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI, OAUTHBEARER with sasl-oauth-token-url"
    raise UserError(f"sasl-mechanism {sasl.mechanism!r} cannot be used; accepted: {accepted}")


MAX_ANSWER_BYTES = 1 << 20
"""Maximum bytes of an answer, as in TiCDC's client (golang.org/x/oauth2 internal/token.go)."""


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Requests a token and caches it until shortly before it expires."""

    def __init__(self, sasl: Sasl, timeout: float = 10.0) -> None:
        super().__init__()
        self._sasl = sasl
        self._timeout = timeout
        self._token = ""
        self._expires = 0.0

    def token(self) -> str:
        """Return a token that is valid for half a minute or more; raise UserError, DeliveryError without an answer."""
        if time.monotonic() > self._expires - 30:
            granted = self._fetch()
            self._token = granted["access_token"]
            self._expires = time.monotonic() + _seconds(granted.get("expires_in"))
        return self._token

    def _fetch(self) -> dict[str, Any]:
        """Return the answer to a request with the secret in the header, else in the form, as TiCDC's client does."""
        sasl = self._sasl
        scopes = " ".join(sasl.oauth_scopes)
        form = {"grant_type": sasl.oauth_grant_type, "scope": scopes, "audience": sasl.oauth_audience}
        pair = f"{quote_plus(sasl.oauth_client_id)}:{quote_plus(sasl.oauth_client_secret)}"
        basic = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        secret = {"client_id": sasl.oauth_client_id, "client_secret": sasl.oauth_client_secret}
        try:
            return self._request_token(form, basic)
        except UserError:
            return self._request_token(form | secret, {})

    def _request_token(self, form: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
        body = urlencode({name: value for name, value in form.items() if value}).encode()
        request = urllib.request.Request(self._sasl.oauth_token_url, body, headers)
        where = f"sasl-oauth-token-url {uri_without_secrets(self._sasl.oauth_token_url)}"
        try:
            with OPENER.open(request, timeout=self._timeout) as answer:
                document = json.loads(answer.read(MAX_ANSWER_BYTES))
        except HTTPError as error:
            with error:
                raise _refusal(error)(f"{where}: no token: {_answer(error)}") from None
        except (URLError, HTTPException, OSError) as error:
            raise DeliveryError(f"{where} does not answer: {_reason(error)}") from error
        except ValueError as error:
            raise UserError(f"{where}: the answer is not JSON") from error
        token = document.get("access_token") if isinstance(document, dict) else None
        if not isinstance(token, str) or not token:
            why = f": {document['error']}" if isinstance(document, dict) and "error" in document else ""
            raise UserError(f"{where}: the answer has no access_token{why}")
        return dict(document)


def _opener() -> urllib.request.OpenerDirector:
    opener = urllib.request.OpenerDirector()
    for handler in (
        *(urllib.request.ProxyHandler(), urllib.request.HTTPHandler(), urllib.request.HTTPSHandler()),
        *(urllib.request.UnknownHandler(), urllib.request.HTTPDefaultErrorHandler()),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


OPENER = _opener()


def _refusal(error: HTTPError) -> type[UserError] | type[DeliveryError]:
    return DeliveryError if error.code >= 500 else UserError


def _answer(error: HTTPError) -> str:
    """Return the status and, if the endpoint sends them, OAuth's error and its description."""
    try:
        content = json.loads(error.read(MAX_ANSWER_BYTES))
    except (ValueError, OSError, HTTPException):
        content = None
    document = content if isinstance(content, dict) else {}
    described = (str(document[name]) for name in ("error", "error_description") if name in document)
    return ": ".join((f"{error.code} {error.reason}".strip(), *described))


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _seconds(expires_in: object) -> float:
    """Return how long a token is valid; without a value five minutes."""
    try:
        return float(str(expires_in))
    except ValueError:
        return 300.0
