"""A client of Confluent's schema registry, which makes the requests that TiCDC makes; its TLS is also that of Kafka.

Source: tiflow v8.5.4: pkg/sink/codec/avro/confluent_schema_registry.go.
"""

from __future__ import annotations

import json
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus, unquote, urlsplit
from urllib.request import HTTPSHandler, Request, build_opener

from simulator import limits
from simulator.errors import DeliveryError, EncodeError, UserError, mask_secrets, uri_without_secrets
from simulator.files import parse_error_reason
from simulator.ticdc.changefeed import Tls
from simulator.ticdc.codecs.avro.schemas import SCHEMA_REFUSED

ACCEPT = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"

TIMEOUT = 10.0
"""Seconds to wait for an answer."""

RETRIES = (0.5, 1.0)
"""Seconds before each further try, if the registry fails or cannot be reached."""

SHOWN = 300
"""Characters of an answer in an error."""

NO_PASSPHRASE = ""
"""With None, OpenSSL would ask the terminal for an encrypted key's passphrase; TiCDC accepts none either."""


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return the context of connections; raises UserError for files that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=tls.ca or None)
        if tls.cert:
            context.load_cert_chain(tls.cert, tls.key or None, NO_PASSPHRASE)
    except OSError as error:
        files = ", ".join(name for name in (tls.ca, tls.cert, tls.key) if name)
        raise UserError(f"the TLS files cannot be used ({files}): {error}") from error
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class ConfluentRegistry:
    """A registry behind a URL."""

    def __init__(self, url: str, tls: Tls | None = None) -> None:
        """Raises UserError for a URL that is none of HTTP. Without `tls` the operating system's certificates are
        trusted, and the client has none."""
        try:
            parts = urlsplit(url.rstrip("/"))
        except ValueError as error:
            raise UserError(f"schema registry {uri_without_secrets(url)}: {error}") from error
        user, at, place = parts.netloc.rpartition("@")
        self._url = parts._replace(netloc=place).geturl()
        self._credentials = {"Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}
        self.name = f"the schema registry at {uri_without_secrets(self._url)}"
        self._tls = tls
        if parts.scheme not in ("http", "https") or not place:
            raise UserError(f"{self.name}: the URL is not valid; accepted: http://host:port or https://host:port")

    def check(self) -> None:
        """Raise DeliveryError unless the registry answers as TiCDC expects where a changefeed begins."""
        status, answer = self._answer(Request(self._url))
        if status != 200 or answer != b"{}":
            text = "Unexpected response from Schema Registry"
            raise DeliveryError(
                f"[{SCHEMA_REFUSED}] {text}: {self.name} answers {_shown(status, answer)}; expected: {{}}"
            )

    def register(self, subject: str, text: str) -> int:
        """Return the id of a schema, which is registered under the subject unless it is there.

        Raises EncodeError if the registry refuses the schema, and DeliveryError if it does not answer.
        """
        body = json.dumps({"schema": text}, ensure_ascii=False).encode("utf-8", "surrogateescape")
        where = f"{self._url}/subjects/{quote_plus(subject)}/versions"
        headers = {"Accept": ACCEPT, "Content-Type": CONTENT_TYPE}
        status, answer = self._answer(Request(where, body, headers, method="POST"))
        if status != 200:
            text = f"schema manager API error, %s: {self.name} refuses a schema of {subject}: {_shown(status, answer)}"
            raise EncodeError(text, SCHEMA_REFUSED)
        number = self._member(answer, "id")
        if not isinstance(number, int) or number <= 0:
            raise DeliveryError(f"[{SCHEMA_REFUSED}] Illegal schema ID returned from Registry {number} ({self.name})")
        return number

    def schema(self, number: int) -> str | None:
        """Return the JSON of a schema, or None if the registry does not know the id; raises DeliveryError."""
        status, answer = self._answer(Request(f"{self._url}/schemas/ids/{number}", headers={"Accept": ACCEPT}))
        if status == 404:
            return None
        if status != 200:
            raise DeliveryError(f"{self.name} does not give schema {number}: {_shown(status, answer)}")
        text = self._member(answer, "schema")
        if not isinstance(text, str):
            raise DeliveryError(f"{self.name} gives no text for schema {number}: {_shown(status, answer)}")
        return text

    def _member(self, answer: bytes, name: str) -> Any:
        try:
            return json.loads(answer)[name]
        except (ValueError, TypeError, KeyError) as error:
            reason = parse_error_reason(error) if isinstance(error, json.JSONDecodeError) else f"no member {name}"
            raise DeliveryError(f"{self.name} answers what is no JSON of a registry: {reason}") from error

    def _answer(self, request: Request) -> tuple[int, bytes]:
        """Return status and body of an answer; raise DeliveryError if there is none."""
        for name, value in self._credentials.items():
            request.add_header(name, value)
        handlers = [] if self._tls is None else [HTTPSHandler(context=tls_context(self._tls))]
        for pause in (*RETRIES, None):
            try:
                with build_opener(*handlers).open(request, timeout=TIMEOUT) as response:
                    return response.status, self._body(response)
            except HTTPError as error:
                with error:
                    if error.code < 500 or pause is None:
                        return error.code, self._body(error)
            except (OSError, HTTPException) as error:
                if pause is None:
                    reason = mask_secrets(str(getattr(error, "reason", None) or error) or type(error).__name__)
                    raise DeliveryError(f"[{SCHEMA_REFUSED}] {self.name} cannot be reached: {reason}") from error
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _body(self, answer: Any) -> bytes:
        body: bytes = answer.read(limits.FILE_BYTES + 1)
        if len(body) > limits.FILE_BYTES:
            most = limits.size(limits.FILE_BYTES)
            raise DeliveryError(f"[{SCHEMA_REFUSED}] {self.name} answers too much: at most {most} are accepted")
        return body


class RegistrySchemas(Mapping[int, str]):
    """The schemas of a registry by id, each read once."""

    def __init__(self, url: str) -> None:
        self._registry = ConfluentRegistry(url)
        self._known: dict[int, str | None] = {}

    def __getitem__(self, number: int) -> str:
        if number not in self._known:
            self._known[number] = self._registry.schema(number)
        found = self._known[number]
        if found is None:
            raise KeyError(number)
        return found

    def __iter__(self) -> Iterator[int]:
        return (number for number, text in self._known.items() if text is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _shown(status: int, answer: bytes) -> str:
    return f"{status} {answer[:SHOWN].decode('utf-8', 'replace').strip()}".rstrip()
