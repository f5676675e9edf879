"""A schema registry of a few requests, in this process: what a Confluent registry answers to TiCDC and its consumers."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote_plus


@dataclass
class Registry:
    """What is registered; `refused` are subjects for which no schema is taken."""

    root: str = "{}"
    refused: tuple[str, ...] = ()
    schemas: list[tuple[str, str]] = field(default_factory=list)
    """Subject and JSON; the first has the id 1."""

    authorized: list[str | None] = field(default_factory=list)
    """The header Authorization of each request."""

    url: str = ""

    def answer(self, path: str, body: bytes) -> tuple[int, str]:
        if path == "/":
            return 200, self.root
        if found := re.fullmatch("/schemas/ids/([0-9]+)", path):
            place = int(found[1]) - 1
            if place < len(self.schemas):
                return 200, json.dumps({"schema": self.schemas[place][1]})
            return 404, json.dumps({"error_code": 40403, "message": "Schema not found"})
        found = re.fullmatch("/subjects/([^/]+)/versions", path)
        assert found is not None, path
        subject = unquote_plus(found[1])
        if subject in self.refused:
            return 409, json.dumps({"error_code": 409, "message": "Schema being registered is incompatible"})
        schema = subject, json.loads(body)["schema"]
        if schema not in self.schemas:
            self.schemas.append(schema)
        return 200, json.dumps({"id": self.schemas.index(schema) + 1})


@contextmanager
def serve(registry: Registry, tls: ssl.SSLContext | None = None) -> Iterator[Registry]:
    """Serve a registry on a port of 127.0.0.1, which `url` names, with TLS if there is a context for it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.authorized.append(self.headers["Authorization"])
            size = int(self.headers["Content-Length"] or 0)
            status, text = registry.answer(self.path or "/", self.rfile.read(size))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    registry.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
