"""SASL and TLS settings, checked as TiCDC checks them.

One law: what would fail in TiCDC before the first connection fails here, with its text (tiflow v8.5.3
pkg/sink/kafka/options.go applySASL, applyTLS; pkg/security/sasl.go).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace

from simulator.changefeed.merged import Settings
from simulator.changefeed.model import Sasl, Tls
from simulator.errors import ChangefeedError
from simulator.releases import availability

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")
FILE = "sink.kafka-config"


def tls(settings: Settings) -> Tls:
    """TLS settings; certificate files turn it on, up to 6.0 (without enable-tls) `ca` alone does."""
    found = _tls(settings)
    plain = found.enabled or settings.get("enable-tls") is False
    return found if plain else replace(found, meant=_meant(settings))


def _meant(settings: Settings) -> str:
    files = [name for name in ("ca", "cert", "key") if settings.text(name)]
    scheme = ["the scheme kafka+ssl"] if settings.uri.scheme == "kafka+ssl" else []
    return ", ".join((*scheme, *files, *(["insecure-skip-verify"] if settings.truth("insecure-skip-verify") else [])))


def _tls(settings: Settings) -> Tls:
    ca, cert, key = files = [settings.text(name) for name in ("ca", "cert", "key")]
    if not availability.has(settings.release, "?enable-tls"):
        return Tls(bool(ca), ca, cert, key)
    if any(files) and not all(files):
        raise _invalid("ca, cert and key files should all be supplied")
    asked = settings.get("enable-tls")
    if all(files) and asked is False:
        raise _invalid("credential files are supplied, but 'enable-tls' is set to false")
    enabled = bool(asked) or (asked is None and all(files))
    return Tls(enabled, ca, cert, key, enabled and settings.truth("insecure-skip-verify"))


def sasl(settings: Settings) -> Sasl:
    """SASL settings; without a mechanism SASL is off."""
    mechanism, auth_type = settings.text("sasl-mechanism"), settings.text("sasl-gssapi-auth-type").lower()
    if mechanism and mechanism.upper() not in MECHANISMS:
        raise _invalid(f"unknown {mechanism} SASL mechanism; accepted: {', '.join(MECHANISMS)}")
    if auth_type not in ("", "user", "keytab"):
        raise _invalid(f"unknown {auth_type} auth type; accepted: user, keytab")
    client_id, secret, token_url = (_oauth(settings, name) for name in ("client-id", "client-secret", "token-url"))
    if client_id or secret or token_url:
        _check_oauth(mechanism.upper(), client_id, secret, token_url)
    scopes = settings.of_file(FILE, "sasl-oauth-scopes")
    return Sasl(
        mechanism=mechanism.upper(),
        user=settings.text("sasl-user"),
        password=settings.text("sasl-password"),
        gssapi_auth_type=auth_type,
        gssapi_keytab_path=settings.text("sasl-gssapi-keytab-path"),
        gssapi_kerberos_config_path=settings.text("sasl-gssapi-kerberos-config-path"),
        gssapi_service_name=settings.text("sasl-gssapi-service-name"),
        gssapi_user=settings.text("sasl-gssapi-user"),
        gssapi_password=settings.text("sasl-gssapi-password"),
        gssapi_realm=settings.text("sasl-gssapi-realm"),
        gssapi_disable_pafxfast=settings.truth("sasl-gssapi-disable-pafxfast"),
        oauth_client_id=client_id,
        oauth_client_secret=secret,
        oauth_token_url=token_url,
        oauth_scopes=tuple(map(str, scopes)) if isinstance(scopes, list) else (),
        oauth_grant_type=str(settings.of_file(FILE, "sasl-oauth-grant-type") or "client_credentials"),
        oauth_audience=str(settings.of_file(FILE, "sasl-oauth-audience") or ""),
    )


def idle(settings: Settings, sasl: Sasl, tls: Tls) -> Iterator[str]:
    """A warning for each security setting that the others leave without effect."""
    if settings.uri.scheme == "kafka+ssl" and not tls.enabled:
        yield "the scheme kafka+ssl does not turn TLS on, in TiCDC neither: enable-tls=true does"
    if settings.truth("insecure-skip-verify") and not tls.enabled:
        yield "insecure-skip-verify has no effect: TLS is off"
    if not sasl.mechanism:
        given = ("sasl-user", "sasl-password", "sasl-gssapi-auth-type", "sasl-gssapi-user")
        yield from (f"{name} has no effect: sasl-mechanism is not set" for name in given if settings.text(name))


def _oauth(settings: Settings, name: str) -> str:
    value = settings.of_file(FILE, f"sasl-oauth-{name}")
    what = name.replace("-", " ").replace("url", "URL").replace("client id", "client ID")
    if value == "":
        raise _invalid(f"OAuth2 {what} cannot be empty")
    if value is None or name != "client-secret":
        return str(value or "")
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise _invalid("OAuth2 client secret is not base64 encoded") from error


def _check_oauth(mechanism: str, client_id: str, secret: str, token_url: str) -> None:
    if mechanism != "OAUTHBEARER":
        raise _invalid(f"OAuth2 is only supported with SASL mechanism type OAUTHBEARER, but got {mechanism}")
    for value, what in ((client_id, "client id"), (secret, "client secret"), (token_url, "token url")):
        if not value:
            raise _invalid(f"OAuth2 {what} is empty")


def _invalid(text: str) -> ChangefeedError:
    return ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")
