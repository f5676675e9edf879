"""A client of the API of a served TiDB, and servers with it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

from simulator.api.server import TiCDCServer
from simulator.api.session import TiCDC
from simulator.openapi.server import HttpServer, application
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
    with TiCDC(release, **options) as ticdc, TiCDCServer(ticdc, storages=()) as served, ExitStack() as stack:
        server = HttpServer(application(served)).start()
        stack.callback(server.close)
        yield Api(served, server)
