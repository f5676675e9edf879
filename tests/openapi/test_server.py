"""Who is answered, and what a request may be."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable

import pytest
from starlette.datastructures import Headers
from support.openapi import Api

from simulator.errors import UserError
from simulator.openapi import LARGEST_BODY, HttpServer, refused


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8300", "[::1]:8300", "localhost:8300", "cdc", "10.0.0.3"])
def test_an_address_and_a_name_without_a_dot_are_answered(api: Api, host: str) -> None:
    assert api.ask("GET", "/health", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8300", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1", "a]b.c"],
)
def test_a_site_whose_name_was_bound_to_loopback_is_not_answered(api: Api, host: str) -> None:
    """DNS rebinding: the browser sends the name of the site that made the request."""
    assert api.ask("DELETE", "/changefeeds/default", headers={"Host": host}).status == 403
    assert api.ask("GET", "/changefeeds/default").status == 200


def test_a_name_that_the_server_was_told_is_answered() -> None:
    asks = Headers({"host": "host.docker.internal:8300"})
    assert refused(asks, ("host.docker.internal",)) == ""
    assert refused(asks, ("docker.internal",)).endswith("a name without a dot, or one of --api-name")


@pytest.mark.parametrize("digits", [21, 401, 5_000])
def test_a_number_of_any_length_is_refused_or_read(api: Api, digits: int) -> None:
    answer = api.ask("POST", "/changefeeds", f'{{"sink_uri": "blackhole://", "start_ts": {"9" * digits}}}'.encode())
    assert answer.status == 400 and "cannot unmarshal number" in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8300", "null", "http://127.0.0.1", ""])
def test_a_page_from_elsewhere_is_not_answered(api: Api, origin: str) -> None:
    headers = {"Host": "127.0.0.1:8300", "Origin": origin}
    assert api.ask("DELETE", "/changefeeds/default", headers=headers).status == 403
    assert api.ask("GET", "/changefeeds/default").status == 200


def test_a_page_of_the_server_itself_is_answered(api: Api) -> None:
    headers = {"Host": "127.0.0.1:8300", "Origin": "http://127.0.0.1:8300"}
    assert api.ask("GET", "/health", headers=headers).status == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_a_limit(api: Api, chunked: bool) -> None:
    """Whether it says its length or not."""
    body = b" " * LARGEST_BODY + b"{}"
    connection = http.client.HTTPConnection(api.server.host, api.server.port)
    content = iter([body]) if chunked else body
    connection.request("POST", "/api/v2/tso", content, encode_chunked=chunked)
    assert connection.getresponse().status == 413
    connection.close()
    assert api.ask("POST", "/tso", b" " * (LARGEST_BODY - 2) + b"{}").status == 200


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--api-port {port}: 127.0.0.1:{port} cannot be listened on: Address"):
            HttpServer(None, port=port)  # type: ignore[arg-type]


def test_what_gin_does_not_know_is_not_found(api: Api) -> None:
    for method, path in (("GET", "/nothing"), ("PATCH", "/changefeeds"), ("POST", "/health")):
        answer = api.ask(method, path)
        assert (answer.status, answer.text) == (404, "404 page not found")


@pytest.mark.parametrize(
    ("release", "path", "status"),
    [
        ("v6.1.0", "/changefeeds", 404),
        ("v6.5.1", "/changefeeds", 404),
        ("v6.5.2", "/changefeeds", 200),
        ("v6.5.2", "/changefeeds/default/status", 404),
        ("v7.5.7", "/changefeeds/default/status", 200),
        ("v7.5.0", "/changefeeds/default/synced", 404),
        ("v7.5.1", "/changefeeds/default/synced", 200),
        ("v8.5.3", "/changefeeds/default/tables", 404),
        ("new:v8.5.7", "/changefeeds/default/tables", 200),
        ("new:v8.5.7", "/changefeeds/default/meta_info", 404),
    ],
)
def test_a_release_has_the_paths_that_it_has(serve: Callable[..., Api], release: str, path: str, status: int) -> None:
    assert serve(release).ask("GET", path).status == status
