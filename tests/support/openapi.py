"""A served TiDB with its API, or with its page in a thread, and what `cdc cli` and the page's script ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from simulator import tso
from simulator.api.server import TiCDCServer
from simulator.api.session import TiCDC
from simulator.changefeeds import Retention
from simulator.changefeeds.served import clock_ms
from simulator.openapi import HttpServer, application
from simulator.page import Page
from support.served import Client

BLACKHOLE = "blackhole://?protocol=canal-json"


@dataclass(frozen=True)
class Answer:
    """What a server answers."""

    status: int
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> tuple[int, str, str]:
        """Status, code without `CDC:`, and text without the code."""
        code = self.json["error_code"]
        assert self.json["error_msg"].startswith(f"[{code}]")
        return self.status, code.removeprefix("CDC:"), self.json["error_msg"].removeprefix(f"[{code}]")


class Api:
    """A client of a served TiDB's API."""

    def __init__(self, served: TiCDCServer, server: HttpServer) -> None:
        self.served, self.server = served, server

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a request below /api/v2; a body that is no text or bytes is sent as JSON."""
        content = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
        with closing(http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)) as connection:
            connection.request(method, f"/api/v2{path}", content, dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode())

    def create(self, name: str, sink_uri: str = BLACKHOLE, **values: Any) -> Answer:
        return self.ask("POST", "/changefeeds", {"changefeed_id": name, "sink_uri": sink_uri, **values})

    def run(self, *statements: str) -> None:
        """Execute statements as a client of MySQL."""
        with Client(host=self.served.host, port=self.served.port, user="root", autocommit=True) as client:
            client.run(*statements)


@contextmanager
def serving(release: str = "v8.5.3", **options: Any) -> Iterator[Api]:
    """A TiDB with the API, whose changefeeds may write no files, as with `serve`; `options` are those of `TiCDC`."""
    with TiCDC(release, **options) as ticdc, ExitStack() as stack:
        served = stack.enter_context(TiCDCServer(ticdc, sinks=replace(ticdc.sinks, storages=())))
        server = HttpServer(application(served)).start()
        stack.callback(server.close)
        yield Api(served, server)


URI = "kafka://127.0.0.1:9092/ticdc?protocol=canal-json&enable-tidb-extension=true&partition-num=3"

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The browser of Debian, or of a machine of GitHub; None without one."""


class Served:
    """A served TiDB with its page, in a thread."""

    def __init__(self, release: str = "v8.5.3", sink_uri: str = URI, **options: Any) -> None:
        now_ms = time.time_ns() // 1_000_000
        self._ticdc = TiCDC(
            release, assumed_uri=sink_uri, start_ts=tso.compose(now_ms - 1), databases=(), keep_history=False, **options
        )
        self.tidb = TiCDCServer(
            self._ticdc,
            clock=clock_ms,
            sinks=replace(self._ticdc.sinks, storages=()),
            retention=Retention(shown=20_000),
        )
        self._page = Page(self.tidb)
        self._http = HttpServer(application(self.tidb, self._page.routes))
        self.url, self.host = self._http.url, f"127.0.0.1:{self._http.port}"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        serving = [asyncio.create_task(each) for each in (self.tidb.server.serve(self._ready.set), self._http.serve())]
        await self._stopping.wait()
        await self._page.close()
        self.tidb.server.stop()
        self._http.stop()
        await asyncio.gather(*serving)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(30)
        self.tidb.close()
        self._http.close()
        self._ticdc.close()

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return status and document of an answer; what is no JSON as text. A body of bytes is sent as it is."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        given = {} if body is None else {"content-type": "application/json"}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, content, {**given, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        self.headers = dict(answer.getheaders())
        connection.close()
        return answer.status, json.loads(text) if answer.getheader("content-type") == "application/json" else text

    def get(self, path: str, **parameters: object) -> Any:
        """Return the document of a request that succeeds."""
        status, document = self.ask("GET", f"{path}?{urlencode(parameters)}")
        assert status == 200, document
        return document

    def post(self, path: str, **body: object) -> Any:
        """Return the document of a request that succeeds."""
        status, document = self.ask("POST", path, body)
        assert status == 200, document
        return document

    def run(self, sql: str, *tidbs: int, session: str = "one") -> list[dict[str, Any]]:
        """Execute a script, and return the answers."""
        answers: list[dict[str, Any]] = self.post("/ui/sql", session=session, sql=sql, tidbs=tidbs or (0,))["answers"]
        return answers

    def messages(self, stream: str = "0/default/0", until: str = "", session: str = "one") -> list[dict[str, Any]]:
        """Return the lines of a stream until one has a text; without one those that are there."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.request("GET", f"/ui/events?session={session}&stream={stream}")
        answer, lines = connection.getresponse(), list[dict[str, Any]]()
        assert answer.status == 200, answer.read()
        try:
            while True:
                line = answer.readline().decode()
                if line.startswith("data: {"):
                    lines += json.loads(line.removeprefix("data: "))["messages"]
                    if any(until in each["text"] for each in lines):
                        return lines
        finally:
            connection.close()
