"""An identity provider on this machine that answers requests for OAuth tokens as it is told."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

Answer = tuple[int, bytes]
"""Status and body."""


@dataclass
class Provider:
    """`answer` is what it says from now on; None is silence."""

    url: str
    answer: Answer | None
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    """The Authorization header and the form of each request."""


def granted(token: str, **more: object) -> Answer:
    return 200, json.dumps({"access_token": token, **more}).encode()


def unsigned(subject: str) -> str:
    """A token that a Kafka takes which checks no signatures."""
    claims = {"sub": subject, "iat": int(time.time()) - 5, "exp": int(time.time()) + 3600}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "none"}, claims))
    return ".".join((*(part.decode().rstrip("=") for part in parts), ""))


@contextmanager
def identity_provider(answer: Answer | None) -> Iterator[Provider]:
    """The provider while it runs."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            provider.asked.append((self.headers.get("Authorization", ""), form))
            if provider.answer is None:
                over.wait(60)
                return
            status, body = provider.answer
            self.send_response(status)
            self.send_header("Location", f"{provider.url}/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keeps quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = Provider(f"http://127.0.0.1:{server.server_port}", answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield provider
        finally:
            over.set()
            server.shutdown()
