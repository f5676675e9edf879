"""The first exchange with Kafka, before a client is created: TLS, versions, SASL, one request, and diagnoses.

Problems that the user can fix raise UserError at once. kafka-python 3.0.12 would retry for its whole timeout, leak
sockets, and then report `Unable to bootstrap`.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.sinks.kafka import KafkaSettings, library
from simulator.sinks.kafka.library import Option, client_options, failure, reason
from simulator.ticdc.changefeed import Sasl, Tls

EXPIRED, NOT_YET_VALID, OTHER_HOST = (10,), (9,), (62, 64)
"""OpenSSL's verify codes: X509_V_ERR_CERT_HAS_EXPIRED, …_NOT_YET_VALID, …_HOSTNAME_MISMATCH, …_IP_ADDRESS_MISMATCH."""

OF_CLIENT = ("CERTIFICATE", "UNKNOWN_CA", "HANDSHAKE_FAILURE", "ACCESS_DENIED")
"""Words in a server's TLS alert about the client's certificate; Java sends bad_certificate without one."""

MOMENT = 1.0
"""Seconds in which a server that requires a certificate closes an idle connection."""


def with_reachable_broker(settings: KafkaSettings) -> KafkaSettings:
    """Return the settings with the first broker that accepts the connection, so that clients do not wait for
    unreachable ones.

    Raise UserError for problems that a retry does not solve, DeliveryError if no broker answers.
    """
    _require_protected(settings.sasl, settings.tls)
    options, timeout = client_options(settings), settings.dial_timeout / len(settings.brokers)
    refused: UserError | None = None
    why = ""
    for broker in settings.brokers:
        try:
            _Handshake(broker, host_and_port(broker), settings.sasl, settings.tls, options, timeout).exchange()
            return replace(settings, brokers=(broker,))
        except UserError as error:
            refused = refused or error
        except (library.KafkaError, OSError) as error:
            why = failure(error)
    if refused is not None:
        raise refused
    raise DeliveryError(f"Kafka at {settings.address} {why}")


def host_and_port(broker: str) -> tuple[str, int]:
    """Return host and port; raise UserError."""
    host, _, port = broker.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port[:6]) < 1 << 16:
        raise UserError(f"Kafka broker {broker!r}: host:port is expected, a port from 1 to 65535")
    return host.strip("[]"), int(port)


def _require_protected(sasl: Sasl, tls: Tls) -> None:
    if sasl.mechanism and tls.asked_by and not tls.enabled:
        raise UserError(
            f"{tls.asked_by} is given, but TLS is off, and SASL would send its secrets in plain text: "
            "give enable-tls=true, or leave that out"
        )


class _Connection:
    """A connection with one request at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._protocol = library.KafkaProtocol(client_id="ticdc-sim")
        answer = self.ask(library.ApiVersionsRequest(version=0))
        every = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        self._known = library.BrokerVersionData(api_versions=every)

    def ask(self, request: Any) -> Any:
        """Return Kafka's answer; raise OSError if the connection ends, KafkaError for an invalid answer."""
        if request.API_VERSION is None:
            request.API_VERSION = self._known.api_version(request)
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        while data := self._connection.recv(1 << 16):
            for _, answer in self._protocol.receive_bytes(data):
                return answer
        raise ConnectionResetError("it ends the connection")


@dataclass(frozen=True)
class _Handshake:
    broker: str
    place: tuple[str, int]
    sasl: Sasl
    tls: Tls
    options: dict[str, Option]
    """Options of kafka-python's clients."""

    timeout: float

    def exchange(self) -> None:
        """Return if a client would be served; otherwise raise UserError, OSError or KafkaError."""
        with ExitStack() as connections:
            line = self._first(self._connected(connections))
            if self.sasl.mechanism:
                self._authenticate(line, str(self.options["sasl_mechanism"]))
            self._question(line)

    def _connected(self, connections: ExitStack) -> socket.socket:
        """Return a connection, with TLS if enabled; `connections` closes it."""
        connection = connections.enter_context(self._dial())
        return connections.enter_context(self._encrypted(connection)) if self.tls.enabled else connection

    def _dial(self) -> socket.socket:
        return socket.create_connection(self.place, self.timeout)

    def _encrypted(self, connection: socket.socket) -> ssl.SSLSocket:
        context = self.options["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        try:
            return self._wrapped(connection, context)
        except ssl.SSLCertVerificationError as error:
            raise UserError(self._distrusted(error)) from error
        except TimeoutError:
            raise
        except OSError as error:
            if self._speaks_plainly():
                raise UserError(f"Kafka at {self.broker} speaks no TLS on this port: leave out enable-tls") from error
            if _is_alert(error):
                raise UserError(self._alerted(error)) from error
            raise

    def _first(self, connection: socket.socket) -> _Connection:
        try:
            return _Connection(connection)
        except TimeoutError:
            raise
        except (library.KafkaError, OSError) as error:
            if not self.tls.enabled and self._speaks_tls():
                raise UserError(f"Kafka at {self.broker} speaks TLS on this port: give enable-tls=true") from error
            if _is_alert(error) or self.tls.enabled and self._ends_unasked():
                raise UserError(self._alerted(error)) from error
            raise

    def _authenticate(self, line: _Connection, mechanism: str) -> None:
        answer = line.ask(library.SaslHandshakeRequest(mechanism=mechanism, version=1))
        if answer.error_code == library.IllegalSaslStateError.errno:
            raise UserError(f"Kafka at {self.broker} takes no SASL on this port: leave out sasl-mechanism")
        if mechanism not in answer.mechanisms:
            accepted = f"it takes {', '.join(answer.mechanisms)}"
            raise UserError(f"Kafka at {self.broker} does not take sasl-mechanism {mechanism}: {accepted}")
        try:
            exchange = library.get_sasl_mechanism(mechanism)(host=self.place[0], **self.options)
            while not exchange.is_done():
                answer = line.ask(library.SaslAuthenticateRequest(exchange.auth_bytes()))
                if answer.error_code:
                    raise UserError(self._failed(mechanism, answer.error_message or "no reason is given"))
                exchange.receive(answer.auth_bytes)
        except (SimulatorError, TimeoutError):
            raise
        except Exception as error:  # each mechanism has errors of its own
            raise UserError(self._failed(mechanism, reason(error))) from error

    def _question(self, line: _Connection) -> None:
        """Send a metadata request. A broker that requires SASL answers the versions request and ends the connection
        at the next."""
        try:
            line.ask(library.MetadataRequest(topics=[]))
        except ConnectionError as error:
            with ExitStack() as connections:
                request = library.SaslHandshakeRequest(mechanism="", version=1)
                accepted = ", ".join(_Connection(self._connected(connections)).ask(request).mechanisms)
            if self.sasl.mechanism or not accepted:
                raise
            remedy = f"give sasl-mechanism ({accepted}), sasl-user and sasl-password"
            raise UserError(f"Kafka at {self.broker} asks for SASL: {remedy}") from error

    def _speaks_plainly(self) -> bool:
        try:
            with self._dial() as connection:
                _Connection(connection)
        except (library.KafkaError, OSError):
            return False
        return True

    def _speaks_tls(self) -> bool:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with self._dial() as connection, self._wrapped(connection, context):
                return True
        except OSError as error:
            return _is_alert(error)

    def _wrapped(self, connection: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        return context.wrap_socket(connection, server_hostname=self.place[0].rstrip("."))

    def _ends_unasked(self) -> bool:
        """Return whether the server ends an idle connection.

        In TLS 1.3 a server notices a missing certificate after the handshake; its alert may be lost behind a request.
        """
        try:
            with ExitStack() as connections:
                connection = self._connected(connections)
                connection.settimeout(MOMENT)
                return not connection.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True

    def _distrusted(self, error: ssl.SSLCertVerificationError) -> str:
        whose, code = f"the certificate of Kafka at {self.broker}", error.verify_code
        if code in EXPIRED:
            return f"{whose} has expired"
        if code in NOT_YET_VALID:
            return f"{whose} is not yet valid"
        if code in OTHER_HOST:
            return f"{whose} is not for this host: {error.verify_message.rstrip('.')}"
        accepted = "give the authority that signed it as ca, or insecure-skip-verify=true"
        return f"{whose} is not trusted ({error.verify_message}): {accepted}"

    def _alerted(self, error: BaseException) -> str:
        alert = getattr(error, "reason", None) or "it ends the connection"
        if isinstance(error, ssl.SSLError) and not any(word in str(alert) for word in OF_CLIENT):
            return f"Kafka at {self.broker} refuses TLS as it was offered: {alert}"
        if self.tls.cert:
            return f"Kafka at {self.broker} does not take the client certificate {self.tls.cert}: {alert}"
        return f"Kafka at {self.broker} asks for a client certificate: give cert and key ({alert})"

    def _failed(self, mechanism: str, why: str) -> str:
        user = self.options.get("sasl_plain_username")
        whose = f" for user {user!r}" if user else ""
        return f"Kafka at {self.broker}: authentication failed{whose} ({mechanism}): {why}"


def _is_alert(error: BaseException) -> bool:
    return isinstance(error, ssl.SSLError) and "ALERT" in str(error.reason)
