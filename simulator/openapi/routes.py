"""The paths of TiCDC's OpenAPI v2 that a release has, and the way of a request to what answers it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.api.server import TiCDCServer
from simulator.errors import SimulatorError
from simulator.openapi import models
from simulator.openapi.answers import answer, error_answer
from simulator.openapi.handlers import HANDLERS, Asked, Handler, Handlers

PREFIX = "/api/v2"
OLD_STATUS = ("version", "git_hash", "id", "pid", "is_owner")
"""What `/status` tells, which TiDB Operator asks."""


def routes(served: TiCDCServer) -> list[Route]:
    """Return the routes of a served TiDB."""
    handlers = Handlers(served)
    found = [Route("/status", partial(_old_status, served), methods=["GET"])]
    for name in sorted(served.release.api_paths):
        method, _, path = name.partition(" ")
        handler = HANDLERS.get(name, Handlers.not_simulated)
        found.append(Route(PREFIX + path, _endpoint(served, handlers, handler), methods=[method], name=name))
    return found


async def _old_status(served: TiCDCServer, request: Request) -> Response:
    status = models.server_status(served.release, os.getpid())
    return answer({name: status[name] for name in OLD_STATUS}, indented=True)


def _endpoint(served: TiCDCServer, handlers: Handlers, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a request, in another thread."""

    call = served.server.call if handler in WITH_TURN else asyncio.to_thread

    async def respond(request: Request) -> Response:
        host, port = request.scope.get("server") or (served.host, 0)
        asked = Asked(request.path_params, request.query_params, await request.body(), f"{host}:{port}")
        return await call(partial(_answered, handlers, handler, asked))

    return respond


WITH_TURN = (Handlers.get, Handlers.processor, Handlers.tables, Handlers.synced, Handlers.verify_table, Handlers.tso)
"""They see a changefeed or the database between two statements. Others do not wait for one that takes long, and those that
wait for Kafka hold none up: changefeeds take their turn themselves."""


def _answered(handlers: Handlers, handler: Handler, asked: Asked) -> Response:
    try:
        return handler(handlers, asked)
    except SimulatorError as error:
        return error_answer(error)
