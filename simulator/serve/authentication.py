"""Who may log in: users with passwords, by mysql_native_password or caching_sha2_password."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from mysql_mimic.auth import (
    AuthInfo,
    AuthPlugin,
    AuthState,
    Forbidden,
    IdentityProvider,
    NativePasswordAuthPlugin,
    Success,
    User,
)
from mysql_mimic.utils import nonce, xor

FAST_AUTHENTICATION = b"\x03"


class CachingSha2PasswordPlugin(AuthPlugin):
    """caching_sha2_password. The server knows the password, so the client's first answer always decides.

    https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
    """

    name = "caching_sha2_password"
    client_plugin_name = "caching_sha2_password"

    async def auth(self, auth_info: AuthInfo | None = None) -> AuthState:
        handshake = auth_info.handshake_auth_data if auth_info is not None else None
        if auth_info is not None and handshake and auth_info.handshake_plugin_name == self.name:
            challenge = handshake.rstrip(b"\0")
        else:
            challenge = nonce(20)
            auth_info = yield challenge + b"\0"
        password = (auth_info.user.auth_string or "").encode()
        answer = auth_info.data.rstrip(b"\0") if not password else auth_info.data
        if answer != (scramble(password, challenge) if password else b""):
            yield Forbidden()
            return
        if password:
            yield FAST_AUTHENTICATION
        yield Success(auth_info.user.name)


def scramble(password: bytes, challenge: bytes) -> bytes:
    """Return the answer to a challenge: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge)."""
    once = sha256(password).digest()
    return xor(once, sha256(sha256(once).digest() + challenge).digest())


class Users(IdentityProvider):
    """The users of a server, by name; `root` without a password by default."""

    def __init__(self, passwords: Mapping[str, str], plugin: str = NativePasswordAuthPlugin.name) -> None:
        self._passwords = passwords
        plugins: list[AuthPlugin] = [NativePasswordAuthPlugin(), CachingSha2PasswordPlugin()]
        self._plugins = sorted(plugins, key=lambda each: each.name != plugin)

    def get_plugins(self) -> Sequence[AuthPlugin]:
        return self._plugins

    async def get_user(self, username: str) -> User | None:
        password = self._passwords.get(username)
        if password is None:
            return None
        plugin = self._plugins[0]
        native = isinstance(plugin, NativePasswordAuthPlugin) and password
        stored = NativePasswordAuthPlugin.create_auth_string(password) if native else password
        return User(username, stored or None, plugin.name)
