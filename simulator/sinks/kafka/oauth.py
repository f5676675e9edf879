"""Tokens for SASL OAUTHBEARER, by OAuth's client-credentials grant.

Law: nothing but http and https is opened, no redirection is followed with the secret, and what goes wrong is one line.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode

from kafka.net.sasl.oauth import AbstractTokenProvider

from simulator.errors import DeliveryError, UserError, shown
from simulator.sinks.kafka.settings import OAuth

LARGEST = 1 << 20
"""Bytes of an answer that are read, as TiCDC's client does (golang.org/x/oauth2 internal/token.go)."""


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Fetches a token and keeps it until shortly before it expires."""

    def __init__(self, oauth: OAuth, timeout: float = 10.0) -> None:
        super().__init__()
        self._oauth = oauth
        self._timeout = timeout
        self._token = ""
        self._expires = 0.0

    def token(self) -> str:
        """A token that is valid for at least half a minute; raises UserError, DeliveryError where nobody answers."""
        if time.monotonic() > self._expires - 30:
            granted = self._granted()
            self._token = granted["access_token"]
            self._expires = time.monotonic() + _seconds(granted.get("expires_in"))
        return self._token

    def _granted(self) -> dict[str, Any]:
        """The answer of the endpoint, which is asked as TiCDC's client asks: with the secret in the header, then in
        the form.
        """
        oauth = self._oauth
        form = {"grant_type": oauth.grant_type, "scope": " ".join(oauth.scopes), "audience": oauth.audience}
        pair = f"{quote_plus(oauth.client_id)}:{quote_plus(oauth.client_secret)}"
        basic = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        secret = {"client_id": oauth.client_id, "client_secret": oauth.client_secret}
        try:
            return self._asked(form, basic)
        except UserError:
            return self._asked(form | secret, {})

    def _asked(self, form: dict[str, str], headers: dict[str, str]) -> dict[str, Any]:
        body = urlencode({name: value for name, value in form.items() if value}).encode()
        request = urllib.request.Request(self._oauth.token_url, body, headers)
        where = f"sasl-oauth-token-url {shown(self._oauth.token_url)}"
        try:
            with OPENER.open(request, timeout=self._timeout) as answer:
                found = json.loads(answer.read(LARGEST))
        except HTTPError as error:
            with error:
                raise _refusal(error)(f"{where}: no token: {_said(error)}") from None
        except (URLError, HTTPException, OSError) as error:
            raise DeliveryError(f"{where} does not answer: {_reason(error)}") from error
        except ValueError as error:
            raise UserError(f"{where}: the answer is not JSON") from error
        token = found.get("access_token") if isinstance(found, dict) else None
        if not isinstance(token, str) or not token:
            why = f": {found['error']}" if isinstance(found, dict) and "error" in found else ""
            raise UserError(f"{where}: the answer has no access_token{why}")
        return dict(found)


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


def _said(error: HTTPError) -> str:
    """Status and, where the endpoint gives them, OAuth's error and its description."""
    try:
        found = json.loads(error.read(LARGEST))
    except (ValueError, OSError, HTTPException):
        found = None
    document = found if isinstance(found, dict) else {}
    told = (str(document[name]) for name in ("error", "error_description") if name in document)
    return ": ".join((f"{error.code} {error.reason}".strip(), *told))


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _seconds(expires_in: object) -> float:
    """How long a token is valid; one that does not say is asked for anew after five minutes."""
    try:
        return float(str(expires_in))
    except ValueError:
        return 300.0
