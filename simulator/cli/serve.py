"""The command `serve`: a MySQL server until a signal comes."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
import webbrowser
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator import releases, signals, tso
from simulator.api.results import records
from simulator.api.server import TiCDCServer
from simulator.api.session import TiCDC
from simulator.changefeeds import Retention
from simulator.changefeeds.served import clock_ms
from simulator.cli.options import instead_of_sink
from simulator.cli.output import complain, show_lines, warn
from simulator.cli.shell import SINK_URI
from simulator.cli.user_files import check_places
from simulator.errors import EncodeError, UserError
from simulator.files import open_file
from simulator.limits import noun
from simulator.reader.event_lines import lines
from simulator.serve import Access, StillRunning
from simulator.serve.data_directory import DataDirectory

if TYPE_CHECKING:
    from simulator.openapi import HttpServer
    from simulator.page import Page

API_PORT = 8300
"""That of TiCDC's servers."""

MOST_SHOWN = 20_000
"""Messages of each changefeed that are kept for a page."""

KAFKA_TIMEOUT = 10.0
"""Seconds without an acknowledgement after which Kafka counts as gone; TiCDC's default of write-timeout."""


def serve(options: dict[str, Any], assumed_uri: str | None = None, browser: bool = False) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP, which ends the stream at a watermark; return the exit code.

    `assumed_uri` counts without a sink-uri, and then nothing is sent to Kafka at all. The page is opened in a `browser`,
    if there is one.
    """
    read = [(f"--{name}", options[name.replace("-", "_")]) for name in ("config", "tls-cert", "tls-key")]
    check_places(options, ("fixtures", "data"), read)
    tls, passwords = _tls(options["tls_cert"], options["tls_key"]), _passwords(options["users"])
    api_port = API_PORT if options["ui"] and options["api_port"] is None else options["api_port"]
    may_send = assumed_uri is None and instead_of_sink(options) is None
    sends = options["sink_uri"] is not None and may_send
    release = releases.find(options["release"] or releases.DEFAULT, options["architecture"])
    with ExitStack() as stack:
        start_ts, data = tso.compose(time.time_ns() // 1_000_000), None
        if options["data"] is not None:
            data = DataDirectory(options["data"], f"{release.architecture}:{release.name}", start_ts, options["resume"])
            stack.callback(data.close)
            start_ts = data.start_ts
        ticdc = TiCDC(
            release.name,
            release.architecture,
            sink_uri=options["sink_uri"],
            assumed_uri=assumed_uri or SINK_URI,
            config=options["config"],
            tz=options["tz"],
            start_ts=start_ts,
            seed=options["seed"] or 0,
            databases=(),
            fixtures=options["fixtures"],
            fixtures_format=options["fixtures_format"],
            send=sends,
            keep_history=False,
            kafka_timeout=KAFKA_TIMEOUT,
        )
        stack.enter_context(ticdc)
        warn(ticdc.warnings)
        takes = ticdc.open_changefeed.output.name != "storage"
        console = _Console(ticdc, options["console"])
        server = TiCDCServer(
            ticdc,
            access=Access(options["host"], options["port"], passwords, options["authentication"], tls),
            clock=clock_ms,
            data=data,
            refuse_commits=options["when_kafka_fails"] == "refuse",
            after_delivery=console.take if takes else None,
            tell=lambda line: complain([line]),
            sinks=replace(ticdc.sinks, sends=may_send, storages=options["allow_storage"]),
            retention=Retention(False, MOST_SHOWN if options["ui"] else 0, api_port is not None),
        )
        stack.callback(server.close)
        http = page = None
        if options["ui"]:
            from simulator.page import Page

            page = Page(server, may_send)
        if api_port is not None:
            from simulator.openapi import HttpServer, application

            api_host = options["api_host"] or "127.0.0.1"
            names = (api_host, *options["api_names"])
            app = application(server, page.routes if page is not None else (), names)
            http = HttpServer(app, api_host, api_port, "--api-port" if assumed_uri is None else "--port")
            stack.callback(http.close)
        with signals.stop_gracefully() as stop:
            nowhere = not (options["sink_uri"] or instead_of_sink(options) or options["ui"])
            about = ticdc.describe() + ", sent nowhere without --sink-uri" * nowhere
            asyncio.run(_serve(server, http, page, about, passwords, stop, browser))
        server.server.close()
        if isinstance(server.changefeeds.failure, EncodeError):
            raise server.changefeeds.failure
        last_ts = server.end()
        server.close()
        if takes:
            console.take()
        show_lines([f"stopped; everything up to {tso.describe(last_ts)} has been sent"])
    return 0


async def _serve(
    server: TiCDCServer,
    http: HttpServer | None,
    page: Page | None,
    about: str,
    users: Collection[str],
    stop: signals.StopRequest,
    browser: bool,
) -> None:
    def listening() -> None:
        who = f"{noun(len(users), 'user')} {', '.join(users)}"
        api = "" if http is None else f"; API: {http.url}" if page is None else f"; page: {http.url}/"
        show_lines([f"{about}; MySQL clients: {server.host}:{server.port}, {who}{api}; Ctrl-C ends"])
        sys.stdout.flush()
        if http is not None and browser:
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, f"{http.url}/")

    serving = asyncio.create_task(server.server.serve(listening))
    running = [serving] if http is None else [serving, asyncio.create_task(http.serve())]
    while not stop.number and not any(task.done() for task in running):
        await asyncio.wait(running, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
    if page is not None:
        await page.close()
    server.server.stop()
    if http is not None:
        http.stop()
        await running[1]
    try:
        await serving
    except StillRunning:
        complain(
            ["ticdc-sim: stopped while a statement ran that could not be interrupted: the last watermark is not sent"]
        )
        sys.stdout.flush()
        os._exit(128 + stop.number)  # its thread would be waited for


class _Console:
    """Takes the new messages, and prints them if it `prints`. Watermarks are printed after other messages only."""

    def __init__(self, ticdc: TiCDC, prints: bool) -> None:
        self._ticdc, self._prints = ticdc, prints
        self._is_idle = False

    def take(self) -> None:
        made = self._ticdc.messages(watermark=False)
        if not self._prints or not made:
            return
        schemas = {number: schema.text for number, schema in self._ticdc.schemas.items()}
        texts = list(lines(records(made), schemas=schemas))
        was_idle, self._is_idle = self._is_idle, all(text.split(" ", 3)[3:] == ["WATERMARK"] for text in texts)
        if not (was_idle and self._is_idle):
            show_lines(texts)
            sys.stdout.flush()


def _passwords(users: tuple[str, ...]) -> Mapping[str, str]:
    pairs = [user.partition(":") for user in users]
    return {name: password for name, _, password in pairs} or {"root": ""}


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return the settings of TLS. Raises UserError for files that are no certificate and key."""
    if cert is None or key is None:
        return None
    for file in (cert, key):
        try:
            open_file(str(file)).close()
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"--tls-cert {cert}, --tls-key {key}: they cannot be used: {error}") from None
    return context
