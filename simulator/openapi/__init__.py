"""TiCDC's OpenAPI v2 on the changefeeds of a served TiDB: the HTTP server.

Only programs on purpose get an answer, never a web page of another site. A browser sends any page's requests to loopback,
too. It names the page's site in Origin, and by DNS rebinding the site's name in Host: both are checked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulator.api.server import TiCDCServer
from simulator.openapi.handlers import routes
from simulator.openapi.models import INVALID, refusal
from simulator.serve import listen

LARGEST_BODY = 1 << 20
"""Bytes of a request."""

HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::\d+)?", re.ASCII)

GRACE_SECONDS = 1
"""How long the end of the server waits for answers under way."""

LOG = logging.getLogger("uvicorn.error")
LOG.setLevel(logging.ERROR)
LOG.addFilter(lambda record: "graceful shutdown" not in record.getMessage())
"""Answers that last until the end, such as a page's events, are cut short then."""


def application(served: TiCDCServer, more: Sequence[BaseRoute] = (), names: Collection[str] = ()) -> Starlette:
    """Return the ASGI application with TiCDC's OpenAPI, and with more routes. `names` are those with a dot by which clients
    may call the server."""
    return Starlette(
        routes=[*routes(served), *more],
        middleware=[Middleware(Guard, names=names)],
        exception_handlers={HTTPException: _refused},
    )


class Guard:
    """Refuses requests of web pages from elsewhere, and bodies above LARGEST_BODY."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if why := refused(Headers(scope=scope), self._names):
            await refusal("CDC:ErrUnauthorized", why, 403)(scope, receive, send)
            return
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST_BODY:
                raise HTTPException(413, f"a body has at most {LARGEST_BODY:,} bytes")
            return message

        await self._app(scope, limited, send)


def refused(headers: Headers, names: Collection[str]) -> str:
    """Return why a request is refused; an empty text if it is not.

    Host is an address or a name without a dot, such as `localhost` or that of a container, which no site of the
    internet has, or one of `names`. Origin is that of a page of this server, if it is there.
    """
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    found = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    name = found and (found[1] or found[2])
    if not name or not (name in names or "." not in name or _is_address(name)):
        accepted = "an address, localhost, a name without a dot, or one of --api-name"
        return f"Host is {', '.join(hosts) or 'missing'}: it has to be {accepted}"
    if any(origin != f"http://{hosts[0]}" for origin in origins):
        return f"Origin is {', '.join(origins)}: pages of other sites are not answered"
    return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code in (404, 405):  # gin has one answer for both
        return Response("404 page not found", 404, media_type="text/plain")
    return refusal(INVALID, error.detail, error.status_code)


class HttpServer:
    """Serves an application in the event loop that there is, or in a thread of its own."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", port: int = 0, option: str = "--api-port") -> None:
        """Listen; `port` 0 takes a free one. Raises UserError for a port that is taken."""
        self._listener = listen(option, host, port)
        self.host, self.port = host, self._listener.getsockname()[1]
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                http="h11",
                ws="none",
                loop="asyncio",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it answers: `http://127.0.0.1:8300`."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    async def serve(self) -> None:
        """Serve until `stop` is called."""
        await self._server.serve([self._listener])

    def stop(self) -> None:
        """Let `serve` return; may be called in any thread."""
        self._server.should_exit = True

    def start(self) -> Self:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="ticdc-sim-http", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop what `start` began, and listen no longer. Closing again does nothing."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._listener.close()


class _Uvicorn(uvicorn.Server):
    """The command handles signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
