"""The paths of the API that a release has, and what each does (tiflow v8.5.3 cdc/api/v2, ticdc v8.5.7 api/v2)."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator import tso
from simulator.api.server import TiCDCServer
from simulator.changefeeds import LONGEST_NAME, NAME
from simulator.changefeeds.served import ServedChangefeed
from simulator.changefeeds.spec import ChangefeedSpec
from simulator.errors import ChangefeedError, SimulatorError
from simulator.openapi import models
from simulator.openapi.go_json import BodyError, Place, read_struct
from simulator.openapi.models import INVALID, answer, error_answer, invalid, invalid_body, refusal
from simulator.openapi.replica_config import (
    Document,
    config_of,
    default_document,
    masked_uri,
    read_document,
    shown_document,
    unmasked,
    zero_document,
)

PD = {"pd_addrs": "texts", "ca_path": "text", "cert_path": "text", "key_path": "text", "cert_allowed_cn": "texts"}
"""How to reach PD: it is read, and the TiDB that is served is used."""

VERIFY = {"replica_config": "any", "start_ts": "uint", "sink_uri": "text", **PD}
CHANGEFEED = {"changefeed_id": "text", "target_ts": "uint", **VERIFY}
RESUME = {"overwrite_checkpoint_ts": "uint", **PD}
UPSTREAM = {"id": "uint", **PD}
LOG = {"log_level": "text"}
LOG_LEVELS = frozenset(("", "debug", "info", "warn", "error", "dpanic", "panic", "fatal"))

EMPTY: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Asked:
    """A request."""

    names: Mapping[str, str]
    """What the path names."""

    query: Mapping[str, str]
    body: bytes
    address: str
    """Where it was asked, `host:port`."""


class Handlers:
    """Answers requests about one served TiDB. All methods raise SimulatorError."""

    def __init__(self, served: TiCDCServer) -> None:
        self._served, self._release = served, served.release
        self._namespace = "keyspace" if self._release.api_keyspaces else "namespace"

    # -- the server ----------------------------------------------------------------------------------------------------

    def status(self, asked: Asked) -> Response:
        return answer(models.server_status(self._release, os.getpid()), indented=True)

    def done(self, asked: Asked) -> Response:
        """Answer what has nothing to do here: no lock to resolve, no other owner, a server that is healthy."""
        return answer(EMPTY)

    def log_level(self, asked: Asked) -> Response:
        level = self._body(asked, "LogLevelReq", LOG)["log_level"] or "info"
        if level not in LOG_LEVELS and level.lower() not in LOG_LEVELS:
            raise invalid(f"fail to change log level: {level}")
        return answer(EMPTY)

    def captures(self, asked: Asked) -> Response:
        return answer(models.listed([models.capture(asked.address)]))

    def drain(self, asked: Asked) -> Response:
        raise ChangefeedError("scheduler request failed, only one capture alive", "CDC:ErrSchedulerRequestFailed")

    def tso(self, asked: Asked) -> Response:
        upstream = self._body(asked, "UpstreamConfig", UPSTREAM)["id"]
        if upstream not in (0, models.UPSTREAM_ID):
            raise ChangefeedError(f"upstream not found, cluster-id: {upstream}", "CDC:ErrUpstreamNotFound")
        now_ts = self._served.changefeeds.now_ts
        now_ms = tso.physical(now_ts)
        return answer({"timestamp": now_ms, "logic_time": now_ts - tso.compose(now_ms)}, indented=True)

    def not_simulated(self, asked: Asked) -> Response:
        return refusal(INVALID, "this simulator does not do it: it has one capture and no etcd", 501)

    # -- changefeeds ---------------------------------------------------------------------------------------------------

    def create(self, asked: Asked) -> Response:
        body = self._body(asked, "ChangefeedConfig", {"namespace": "text", **CHANGEFEED})
        document = self._document(body["replica_config"], default_document(self._release))
        if not body["sink_uri"]:
            text = "sink_uri is empty, cannot create a changefeed without sink_uri"
            raise ChangefeedError(f"sink uri invalid '{text}'", "CDC:ErrSinkURIInvalid")
        spec = ChangefeedSpec(
            body["changefeed_id"] or str(uuid.uuid4()),
            body["sink_uri"],
            config_of(document, self._release),
            body["start_ts"],
            body["target_ts"],
            self._asked_namespace(asked) if self._release.api_keyspaces else body["namespace"] or "default",
            bool(document.get("ignore_ineligible_table")),
        )
        feed = self._served.changefeeds.create(spec)
        return answer(models.created(feed, self._release, asked.address))

    def list(self, asked: Asked) -> Response:
        state = asked.query.get("state", "")
        wanted = (
            feed
            for feed in self._served.changefeeds.list(self._asked_namespace(asked))
            if state in ("all", feed.state) or not state and feed.state in models.LISTED
        )
        return answer(models.listed([models.common_info(feed, self._release) for feed in wanted]))

    def get(self, asked: Asked) -> Response:
        feed = self._feed(asked)
        tables = models.replicated_ids(feed) if feed.state == "normal" else None
        return answer(models.detail(feed, self._release, asked.address, tables))

    def update(self, asked: Asked) -> Response:
        feed = self._feed(asked)
        body = self._body(asked, "ChangefeedConfig", {self._namespace: "text", **CHANGEFEED})
        if self._release.api_keyspaces and body["start_ts"]:
            raise invalid("start_ts can not be updated")
        old = feed.spec
        new = replace(old, target_ts=body["target_ts"] or old.target_ts)
        if body["sink_uri"]:
            new = replace(new, sink_uri=unmasked(body["sink_uri"], old.sink_uri, masked_uri(old.sink_uri)))
        if body["replica_config"] is not None:
            before = models.document(feed, self._release)
            document = self._document(body["replica_config"], zero_document(self._release))
            document = unmasked(document, before, shown_document(before, self._release))
            config = config_of(document, self._release)
            new = replace(new, ignores_ineligible_tables=bool(document.get("ignore_ineligible_table")))
            if config != config_of(before, self._release):
                new = replace(new, config=config)
        self._served.changefeeds.update(old.name, new, old.namespace)
        return answer(models.detail(feed, self._release, asked.address))

    def remove(self, asked: Asked) -> Response:
        name, namespace = self._name(asked), self._asked_namespace(asked)
        if all(feed.spec.name != name for feed in self._served.changefeeds.list(namespace)):
            return answer(None if self._release.api_keyspaces else EMPTY)
        self._served.changefeeds.remove(name, namespace)
        return answer(EMPTY)

    def pause(self, asked: Asked) -> Response:
        spec = self._feed(asked).spec
        self._served.changefeeds.pause(spec.name, spec.namespace)
        return answer(EMPTY)

    def resume(self, asked: Asked) -> Response:
        spec, body = self._feed(asked).spec, {"overwrite_checkpoint_ts": 0}
        if asked.body or not self._release.api_keyspaces:
            body = self._body(asked, "ResumeChangefeedConfig", RESUME)
        self._served.changefeeds.resume(spec.name, spec.namespace, body["overwrite_checkpoint_ts"] or None)
        return answer(EMPTY)

    def changefeed_status(self, asked: Asked) -> Response:
        return answer(models.changefeed_status(self._feed(asked), self._release))

    def synced(self, asked: Asked) -> Response:
        feed = self._feed(asked)
        document = models.document(feed, self._release)
        if asked.body and not self._release.api_keyspaces:
            body = self._body(asked, "ChangefeedConfig", {"namespace": "text", **CHANGEFEED})
            document = self._document(body["replica_config"], document)
        intervals = document.get("synced_status") or default_document(self._release)["synced_status"]
        return answer(models.synced_status(feed, self._release, self._served.changefeeds.now_ms, intervals))

    # -- processors and tables -----------------------------------------------------------------------------------------

    def processors(self, asked: Asked) -> Response:
        if self._release.api_keyspaces:
            return answer(models.listed([]))
        running = (feed.spec for feed in self._served.changefeeds.list() if feed.runs)
        return answer(models.listed([models.processor(spec) for spec in running]))

    def processor(self, asked: Asked) -> Response:
        if self._release.api_keyspaces:
            return answer({"table_ids": None})
        self._name(asked)
        capture = asked.names["capture_id"]
        _check_name("capture_id", capture)
        feed = self._feed(asked)
        if not feed.runs:
            text = "can'duration get processor of an abnormal changefeed"  # as it is spelled there
            raise invalid_body(ValueError(f"changefeed in abnormal state: {feed.state}, {text}"))
        if capture != models.CAPTURE_ID:
            raise ChangefeedError(f"capture not exists, {capture}", "CDC:ErrCaptureNotExist")
        return answer({"table_ids": models.replicated_ids(feed)})

    def tables(self, asked: Asked) -> Response:
        ids = models.replicated_ids(self._feed(asked))
        return answer(models.listed([{"node_id": models.CAPTURE_ID, "table_ids": ids}] if ids else []))

    def verify_table(self, asked: Asked) -> Response:
        body = self._body(asked, "VerifyTableConfig", VERIFY)
        document = self._document(body["replica_config"], default_document(self._release))
        sink_uri, config = body["sink_uri"] or "blackhole://", config_of(document, self._release)
        changefeed = self._served.changefeeds.compiled(ChangefeedSpec("verify-table", sink_uri, config))
        catalog = self._served.database.rows.schema(body["start_ts"] or tso.FOREVER).catalog
        return answer(models.verified_tables(changefeed, self._release, catalog).shown(self._release.api_keyspaces))

    # -- what several have in common -----------------------------------------------------------------------------------

    def _body(self, asked: Asked, struct: str, kinds: Mapping[str, str]) -> dict[str, Any]:
        try:
            return read_struct(asked.body, struct, kinds)
        except BodyError as error:
            raise invalid_body(error) from None

    def _document(self, value: Any, base: Document) -> Document:
        """Return `base` with what a `replica_config` changes in it."""
        try:
            return read_document(value, base, self._release, Place("ChangefeedConfig", ("replica_config",)))
        except BodyError as error:
            raise invalid_body(error) from None

    def _asked_namespace(self, asked: Asked) -> str:
        return asked.query.get(self._namespace) or "default"

    def _name(self, asked: Asked) -> str:
        name = asked.names["changefeed_id"]
        _check_name("changefeed_id", name)
        return name

    def _feed(self, asked: Asked) -> ServedChangefeed:
        return self._served.changefeeds.get(self._name(asked), self._asked_namespace(asked))


Handler = Callable[[Handlers, Asked], Response]
HANDLERS: Mapping[str, Handler] = {
    "GET /status": Handlers.status,
    "GET /health": Handlers.done,
    "POST /log": Handlers.log_level,
    "GET /changefeeds": Handlers.list,
    "POST /changefeeds": Handlers.create,
    "GET /changefeeds/{changefeed_id}": Handlers.get,
    "PUT /changefeeds/{changefeed_id}": Handlers.update,
    "DELETE /changefeeds/{changefeed_id}": Handlers.remove,
    "GET /changefeeds/{changefeed_id}/meta_info": Handlers.get,
    "POST /changefeeds/{changefeed_id}/pause": Handlers.pause,
    "POST /changefeeds/{changefeed_id}/resume": Handlers.resume,
    "GET /changefeeds/{changefeed_id}/status": Handlers.changefeed_status,
    "GET /changefeeds/{changefeed_id}/synced": Handlers.synced,
    "GET /changefeeds/{changefeed_id}/tables": Handlers.tables,
    "GET /captures": Handlers.captures,
    "POST /captures/{capture_id}/drain": Handlers.drain,
    "GET /processors": Handlers.processors,
    "GET /processors/{changefeed_id}/{capture_id}": Handlers.processor,
    "POST /owner/resign": Handlers.done,
    "POST /tso": Handlers.tso,
    "POST /unsafe/resolve_lock": Handlers.done,
    "DELETE /unsafe/service_gc_safepoint": Handlers.done,
    "POST /verify_table": Handlers.verify_table,
    "POST /get_all_tables": Handlers.verify_table,
}
"""What answers a path of `Release.api_paths`; others are not simulated."""


def _check_name(what: str, name: str) -> None:
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise invalid(f"invalid {what}: {name}")


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
